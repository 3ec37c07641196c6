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

bool LayoutGuide::follow(Token token, std::span<const Token> tail) {
  if (matcher_.allows(token)) return matcher_.advance(token);
  std::string_view piece = tokenizer_.piece(token);
  if (piece.empty()) return false;
  while (!piece.empty()) {
    const auto run = take_run(piece);
    if (take(run, tail) || is_white(run.front())) continue;
    if (!take(" ", tail) || !take(run, tail)) return false;
  }
  return true;
}

bool LayoutGuide::take(std::string_view text, std::span<const Token> tail) {
  const auto tokens = tokens_near(tokenizer_, tail, text);
  if (tokens.empty() || matcher_.count_allowed(tokens) != static_cast<int>(tokens.size()))
    return false;
  return std::ranges::all_of(tokens, [&](Token token) { return matcher_.advance(token); });
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
