#pragma once
// From the messages and tools of a request body to the rendered prompt: what is checked before the
// template sees it. Used by the chat route and by /tokenize, so both give the same prompt.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/types.h"
#include "server/context/server_context.h"
#include "server/json/json_fields.h"
#include "text/dialogue/tool_schemas.h"

namespace foretoken {

struct ChatPrompt {
  std::string text;
  std::optional<std::vector<Token>> tokens;  // that the body gave instead of a text
  std::string continued;                     // of the final message that is continued
  std::shared_ptr<const ToolSchemas> tools;  // null: the model is shown none
  bool demands_call = false;  // the answer is to be a call, not a text that may hold one
  std::string named_tool;     // that is to be called; empty: any
};

// Reads messages, tools, tool_choice, add_generation_prompt (true unless a final assistant message
// is continued), continue_final_message, chat_template_kwargs, reasoning_effort,
// reasoning. With input_ids nothing is rendered: they are the prompt, and messages may be left out.
Result<ChatPrompt> render_chat(const ServerContext& context, Fields& fields);

// Checks that tools are functions with names.
void check_tools(Fields& fields);

}  // namespace foretoken
