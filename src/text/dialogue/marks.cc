#include "text/dialogue/marks.h"

#include <algorithm>

namespace foretoken {

FoundMark find_mark(std::string_view text, std::span<const std::string_view> marks) {
  FoundMark found;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (marks[i].empty()) continue;
    // No further than where an earlier mark begins.
    const std::size_t end = found.at == std::string_view::npos
                                ? text.size()
                                : std::min(text.size(), found.at + marks[i].size());
    const std::size_t at = text.substr(0, end).find(marks[i]);
    if (at == std::string_view::npos) continue;
    if (at < found.at || marks[i].size() > marks[found.which].size()) found = {at, i};
  }
  return found;
}

std::size_t unfinished_mark(std::string_view text, std::span<const std::string_view> marks) {
  std::size_t longest = 0;
  for (const std::string_view mark : marks) {
    if (mark.empty()) continue;
    for (std::size_t n = std::min(mark.size() - 1, text.size()); n > longest; --n)
      if (mark.starts_with(text.substr(text.size() - n))) longest = n;
  }
  return longest;
}

}  // namespace foretoken
