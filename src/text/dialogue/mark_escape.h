#pragma once
// Names inside of marks of the form key="NAME", in which & and " are written as entities.
// Stateless.

#include <string>
#include <string_view>

namespace foretoken {

inline std::string escaped_marks(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

inline std::string unescaped_marks(std::string_view text) {
  constexpr std::string_view kAnd = "&amp;", kQuote = "&quot;";
  std::string out;
  while (!text.empty()) {
    const bool is_and = text.starts_with(kAnd), is_quote = text.starts_with(kQuote);
    out += is_quote ? '"' : text.front();
    text.remove_prefix(is_and ? kAnd.size() : is_quote ? kQuote.size() : 1);
  }
  return out;
}

}  // namespace foretoken
