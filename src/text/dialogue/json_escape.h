#pragma once
// Text inside of a JSON string, also of text that comes in pieces: bytes of characters are passed
// on as they are. Stateless.

#include <string>
#include <string_view>

namespace foretoken {

// Without the quotes.
void append_escaped(std::string& out, std::string_view text);

inline void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  append_escaped(out, text);
  out += '"';
}

}  // namespace foretoken
