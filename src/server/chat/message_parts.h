#pragma once
// The content of messages: a text, or a list of parts. Which parts it may have, its text, and what
// templates are shown of parts that are no text. Pure functions.
//   text                  of any message, and of other content of that form
//   thinking, reasoning   of the assistant: what it thought
//   tool_reference        of a tool's result: the name of a tool

#include <string>
#include <string_view>

#include <boost/json/array.hpp>

#include "server/json/json_fields.h"

namespace foretoken {

// Checks that `content` of a message of `role` (empty: of something else) is a text, null, or a
// list of parts that it may have.
void check_content(Fields& message, std::string_view role);

// The text of content that was checked: of all its parts but thoughts.
std::string text_of_content(const Fields& message);

// Messages as templates know them: thoughts are `reasoning_content`; references to tools are texts
// unless the template (its source) knows them.
boost::json::array shown_messages(const boost::json::array& messages,
                                  std::string_view template_source);

}  // namespace foretoken
