#include "text/dialogue/marks.h"

#include <algorithm>
#include <string>

namespace foretoken {

FoundMark find_mark(std::string_view text, std::span<const std::string_view> marks) {
  // One pass over the text, whatever it holds: it comes from outside.
  std::string firsts;
  for (const std::string_view mark : marks)
    if (!mark.empty()) firsts += mark.front();
  for (std::size_t at = text.find_first_of(firsts); at != std::string_view::npos;
       at = text.find_first_of(firsts, at + 1)) {
    FoundMark found;
    std::size_t longest = 0;
    for (std::size_t i = 0; i < marks.size(); ++i) {
      if (marks[i].size() <= longest || !text.substr(at).starts_with(marks[i])) continue;
      found = {at, i};
      longest = marks[i].size();
    }
    if (longest > 0) return found;
  }
  return {};
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
