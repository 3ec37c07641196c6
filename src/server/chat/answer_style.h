#pragma once
// What the server takes out of answers: reasoning and calls of tools, by the styles of the model's
// family, which the flags name or the chat template tells. Chosen once; then, per request, the
// Dialogue that its answers are read by. Pure functions.

#include <memory>
#include <string>

#include "server/chat/chat_prompt.h"
#include "server/chat/thought_budget.h"
#include "server/context/server_context.h"
#include "server/json/json_fields.h"
#include "text/dialogue/dialogue.h"

namespace foretoken {

// What a request says about the parts of its answers.
struct PartWishes {
  bool separate_reasoning = true;
  bool stream_reasoning = true;
  bool parallel_calls = true;
  bool wants_thinking = true;  // what the template is told does not forbid it
  bool whole_calls = false;    // the answer is sent whole
};

// Reads separate_reasoning, stream_reasoning, parallel_tool_calls, chat_template_kwargs
// and how much it wishes to think.
PartWishes read_part_wishes(Fields& fields);

// Where the answers to `prompt` may think.
ThoughtPlace thoughts_of(const ServerContext& context, const ChatPrompt& prompt,
                         const PartWishes& wishes);

// How the answers to `prompt` are read.
std::shared_ptr<Dialogue> dialogue_of(const ServerContext& context, const ChatPrompt& prompt,
                                      const PartWishes& wishes);

// Whether marks of the dialogue are special tokens, which must stay in the text then.
bool needs_special_text(const Dialogue& dialogue, const Tokenizer& tokenizer);

// An id as the family's templates take it back.
std::string new_call_id(const CallStyle& style);

}  // namespace foretoken
