#pragma once
// From the messages and tools of a request body to the rendered prompt: what is checked before the
// template sees it. Used by the chat route and by /tokenize, so both give the same prompt. And what
// else has content of a message's form.

#include <memory>
#include <string>

#include "base/error.h"
#include "server/context/server_context.h"
#include "server/json/json_fields.h"
#include "text/dialogue/tool_schemas.h"

namespace foretoken {

struct ChatPrompt {
  std::string text;
  std::string continued;                     // of the final message that is continued
  std::shared_ptr<const ToolSchemas> tools;  // null: the model is shown none
  bool demands_call = false;  // the answer is to be a call, not a text that may hold one
  std::string named_tool;     // that is to be called; empty: any
};

// Reads messages, tools, tool_choice, add_generation_prompt (true unless a final assistant message
// is continued), continue_final_message, chat_template_kwargs, reasoning_effort.
Result<ChatPrompt> render_chat(const ServerContext& context, Fields& fields);

// Checks that tools are functions with names.
void check_tools(Fields& fields);

// Checks that `content` is a text, null, or a list of text parts.
void check_text_content(Fields& message);

// The text of content that was checked, of all its parts.
std::string text_of_content(const Fields& message);

}  // namespace foretoken
