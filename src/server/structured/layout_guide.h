#pragma once
// LayoutGuide: follows JSON in whatever layout it is written, by a grammar of the same JSON in the
// usual one (a space after commas and colons), so that it is known what comes next although white
// space is free. White space that the usual layout has not is passed over, what it has more is
// supplied. Guesses only: where it loses its way drafts are lost and nothing else. One thread.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/types.h"
#include "text/grammar.h"
#include "text/tokenizer.h"

namespace foretoken {

class LayoutGuide {
 public:
  LayoutGuide(const Grammar& usual, const Tokenizer& tokenizer)
      : tokenizer_(tokenizer), matcher_(usual.start()) {}

  // A token of the text, or part of one. False: it has lost its way.
  bool follow(Token token);
  bool follow_text(std::string_view text);
  // The bytes that come next in the usual layout, as far as they are certain.
  std::string forced() { return matcher_.forced(); }

 private:
  const Tokenizer& tokenizer_;
  GrammarMatcher matcher_;
};

// How many bytes of `expected`, in the usual layout, `piece` writes in its own; nullopt: it writes
// something else.
std::optional<std::size_t> written_of(std::string_view expected, std::string_view piece);

}  // namespace foretoken
