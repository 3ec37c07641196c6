#pragma once
// Detokenizer: the text of one sequence, one token at a time. The pieces that push() and finish()
// return join to exactly Tokenizer::decode of all tokens; no piece holds a part of a UTF-8
// character. Text is held back while it can still change: an unfinished character, a run of byte
// tokens (SentencePiece), see pending(). Amortised O(length of the piece) per token. Not
// thread-safe: one per sequence. Refers to the tokenizer, which outlives it.

#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "text/tokenizer.h"

namespace foretoken {

class Detokenizer {
 public:
  explicit Detokenizer(const Tokenizer& tokenizer, SpecialText special = SpecialText::kSkip)
      : tokenizer_(&tokenizer), special_(special), spaces_to_strip_(tokenizer.leading_spaces()) {}

  // The text that is certain after `token`; may be empty.
  std::string push(Token token);

  // What was held back, as decode would show it if no token follows. Call once, at the end.
  std::string finish();

  // A held-back run of byte tokens, if it is valid UTF-8 so far: what finish() would return now,
  // else empty. Lets a stop string be seen at the token that completes it. O(length of the run).
  std::string pending() const;

 private:
  std::string push_contextual(Token token);
  std::string take_run();
  std::string strip_front(std::string text);

  const Tokenizer* tokenizer_;
  SpecialText special_;
  int spaces_to_strip_;          // of the front of the whole text, not yet seen
  std::string held_;             // bytes of an unfinished character, or of a run
  std::vector<Token> window_;    // contextual only: recent tokens
  std::size_t window_read_ = 0;  // those of them whose text is out
};

}  // namespace foretoken
