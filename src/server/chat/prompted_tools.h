#pragma once
// Tools for a model whose chat template shows none. The generic format: tools, calls and results
// are texts of messages that every template shows.
//   tools      a section of the system prompt, a line of JSON each between <tools> and </tools>
//   a call     <tool_call> and {"name": ..., "arguments": {...}} and </tool_call>
//   results    a message of the user, each between <tool_response> and </tool_response>
// Not the reading of answers: they are of the style kPromptedCalls. Pure functions.

#include <string>

#include <boost/json/array.hpp>

#include "base/error.h"

namespace foretoken {

// Whether a conversation holds calls of tools or results of them.
bool mentions_tools(const boost::json::array& messages);

// What the system prompt says about `tools`.
Result<std::string> section_of_tools(const boost::json::array& tools);

enum class ToolsPlace {
  kSystem,  // the system's message, or one of its own before the others
  // For templates without a system's message or with strict turns: the first message of the user,
  // with the system's text before it; neighbouring messages of the user are one.
  kUser,
};

// The conversation with `section` (empty: none) and with its calls and results as text. messages:
// checked.
boost::json::array with_prompted_tools(const boost::json::array& messages,
                                       const std::string& section, ToolsPlace place);

}  // namespace foretoken
