#pragma once
// tokenize_lines: the work of `foretoken tokenize`: one JSON object per line in, one per line out.
//   {"text": ...}                           -> {"prompt": the text, "tokens": [...]}, special
//                                              tokens added
//   {"messages": [...], "tools": ..., ...}  -> {"prompt": rendered, "tokens": [...]}, rendered as
//                                              the server does (MessageForm::kOpenAi), roles as
//                                              given
//   anything else                           -> {"error": "..."}
// Output order is input order; blank lines are skipped. A bad line does not stop the rest.

#include <iosfwd>
#include <string>
#include <string_view>

#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace foretoken {

// chat_template may be null: then lines with messages are errors.
void tokenize_lines(std::istream& in, std::ostream& out, const Tokenizer& tokenizer,
                    const ChatTemplate* chat_template);

// One line, without the line end.
std::string tokenize_line(std::string_view line, const Tokenizer& tokenizer,
                          const ChatTemplate* chat_template);

}  // namespace foretoken
