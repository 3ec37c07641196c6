#include "server/structured/layout_guide.h"

#include <algorithm>

#include "server/structured/tokens_behind.h"
#include "text/dialogue/marks.h"

namespace foretoken {
namespace {

// White space, or what stands between white space and where the usual layout has a space.
std::string_view take_run(std::string_view& text) {
  const bool white = is_white(text.front());
  std::size_t size = 1;
  while (size < text.size() && is_white(text[size]) == white &&
         (white || (text[size - 1] != ',' && text[size - 1] != ':')))
    ++size;
  const auto run = text.substr(0, size);
  text.remove_prefix(size);
  return run;
}

}  // namespace

bool LayoutGuide::follow(Token token) {
  if (matcher_.allows(token)) return matcher_.advance(token);
  return follow_text(tokenizer_.piece(token));
}

bool LayoutGuide::follow_text(std::string_view text) {
  if (text.empty()) return false;
  while (!text.empty()) {
    const auto run = take_run(text);
    if (matcher_.advance_text(run) || is_white(run.front())) continue;
    if (!matcher_.advance_text(" ") || !matcher_.advance_text(run)) return false;
  }
  return true;
}

std::optional<std::size_t> written_of(std::string_view expected, std::string_view piece) {
  std::size_t written = 0;
  for (const char c : piece) {
    while (written < expected.size() && expected[written] != c && is_white(expected[written]) &&
           !is_white(c))
      ++written;
    if (written < expected.size() && expected[written] == c)
      ++written;
    else if (!is_white(c))
      return std::nullopt;
  }
  return written;
}

}  // namespace foretoken
