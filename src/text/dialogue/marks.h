#pragma once
// Finding marks ("<think>", "</tool_call>") in text whose end has not come yet. Stateless.

#include <cstddef>
#include <span>
#include <string_view>

namespace foretoken {

// Lists and objects inside of each other in the arguments of a call, at most.
inline constexpr std::size_t kDeepestValue = 64;

struct FoundMark {
  std::size_t at = std::string_view::npos;  // npos: none
  std::size_t which = 0;
};

// The first of the marks in `text`; of several at one place the longest. Empty marks are none.
FoundMark find_mark(std::string_view text, std::span<const std::string_view> marks);

// Bytes at the end of `text` that may be the beginning of a mark.
std::size_t unfinished_mark(std::string_view text, std::span<const std::string_view> marks);

// The same for one.
inline std::size_t unfinished_mark(std::string_view text, std::string_view mark) {
  return unfinished_mark(text, std::span(&mark, 1));
}

// Whether `text` begins with `mark`, as far as it goes.
enum class Begins { kYes, kNo, kMaybe };
inline Begins begins_with(std::string_view text, std::string_view mark) {
  if (text.starts_with(mark)) return Begins::kYes;
  return mark.starts_with(text) ? Begins::kMaybe : Begins::kNo;
}

inline bool is_white(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// Bytes of white space at the front.
inline std::size_t leading_white(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && is_white(text[n])) ++n;
  return n;
}

inline std::string_view trimmed(std::string_view text) {
  text.remove_prefix(leading_white(text));
  while (!text.empty() && is_white(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace foretoken
