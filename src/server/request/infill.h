#pragma once
// Prompts that let a model fill in the middle of a text: the marks that its tokenizer has, in the
// order in which its family was trained. Not the fields of routes. Pure functions.
//
//   Qwen2.5-Coder, CodeGemma, StarCoder, Granite   PREFIX before SUFFIX after MIDDLE
//   DeepSeek-Coder                                 the same with begin, hole, end
//   Codestral                                      SUFFIX after PREFIX before

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "server/context/server_context.h"
#include "server/request/asked_prompt.h"

namespace foretoken {

// A file that the model may look at.
struct InfillFile {
  std::string name, text;
};

struct InfillParts {
  std::vector<InfillFile> files = {};
  std::vector<Token> before = {};  // the gap
  std::string_view after = {};
};

struct InfillPrompt {
  std::vector<Token> tokens;
  std::vector<Token> stops;  // that end what is filled in, besides the model's own
};

// Makes it the prompt of `asked`, and lets its ends stop the answer unless that ignores ends.
void use_infill(InfillPrompt prompt, AskedPrompt& asked);

// Refused: a tokenizer without marks; texts that are too long to be tokenized.
Result<InfillPrompt> infill_prompt(const ServerContext& context, const InfillParts& parts);

}  // namespace foretoken
