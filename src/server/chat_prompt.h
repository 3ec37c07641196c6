#pragma once
// From the messages and tools of a request body to the rendered prompt: what is checked before the
// template sees it. Used by the chat route and by /tokenize, so both give the same prompt.

#include <string>

#include "base/error.h"
#include "server/json_fields.h"
#include "server/server_context.h"

namespace foretoken {

// Reads messages, tools, tool_choice, add_generation_prompt (true unless a final assistant message
// is continued), continue_final_message, chat_template_kwargs, reasoning_effort.
Result<std::string> render_chat(const ServerContext& context, Fields& fields);

}  // namespace foretoken
