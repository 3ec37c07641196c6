#include "text/dialogue/python_list.h"

#include <algorithm>

#include "text/dialogue/call_body.h"
#include "text/dialogue/marks.h"

namespace foretoken {
namespace {

constexpr std::string_view kFence = "```";
constexpr std::size_t kMaxLanguage = 16;  // behind a fence
constexpr std::size_t kMaxGap = 64;       // white space before the list, and inside before a name

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool is_list_name(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-'; }

// Bytes at the front that fit, `most` at most.
template <typename Fits>
std::size_t leading(std::string_view text, std::size_t most, Fits fits) {
  std::size_t size = 0;
  while (size < text.size() && size < most && fits(text[size])) ++size;
  return size;
}

// Whether a list begins that calls a tool.
Begins begins_list(std::string_view text, const ToolSchemas& tools) {
  if (text.empty()) return Begins::kMaybe;
  if (text.front() != '[') return Begins::kNo;
  text.remove_prefix(1);
  text.remove_prefix(leading(text, kMaxGap, is_white));
  if (text.empty()) return Begins::kMaybe;
  const std::size_t size = leading(text, kMaxNameBytes, is_list_name);
  if (size == text.size()) return Begins::kMaybe;
  const bool is_call = size > 0 && text[size] == '(' && tools.has(text.substr(0, size));
  return is_call ? Begins::kYes : Begins::kNo;
}

// "```python" and a line break. size: of what was read.
Begins begins_block(std::string_view text, std::size_t& size) {
  const Begins fence = begins_with(text, kFence);
  if (fence != Begins::kYes) return fence;
  size = kFence.size();
  size += leading(text.substr(size), kMaxLanguage, is_letter);
  size += leading(text.substr(size), kMaxGap, is_white);
  if (size == text.size()) return Begins::kMaybe;
  const std::string_view head = text.substr(0, size);
  return head.find('\n') == std::string_view::npos ? Begins::kNo : Begins::kYes;
}

}  // namespace

PythonList find_python_list(std::string_view text, std::span<const std::string_view> marks,
                            const ToolSchemas& tools) {
  const FoundMark mark = find_mark(text, marks);
  const std::size_t last = std::min(mark.at, text.size());
  for (std::size_t at = 0; at < last; ++at) {
    const std::string_view rest = text.substr(at);
    if (rest.front() == '[') {
      const Begins list = begins_list(rest, tools);
      if (list == Begins::kYes) return {.at = at, .begins = true};
      if (list == Begins::kMaybe) return {.at = at};
    } else if (rest.front() == kFence.front()) {
      std::size_t size = 0;
      Begins block = begins_block(rest, size);
      if (block == Begins::kYes) block = begins_list(rest.substr(size), tools);
      if (block == Begins::kYes) return {.at = at, .begins = true, .size = size, .end = kFence};
      if (block == Begins::kMaybe) return {.at = at};
      at += leading(rest, rest.size(), [](char c) { return c == kFence.front(); }) - 1;
    }
  }
  if (mark.at != std::string_view::npos)
    return {.at = mark.at, .begins = true, .size = marks[mark.which].size(), .is_marked = true};
  return {.at = text.size() - unfinished_mark(text, marks)};
}

}  // namespace foretoken
