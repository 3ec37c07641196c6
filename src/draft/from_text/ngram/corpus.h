#pragma once
// Corpus: texts that drafts may be taken from, with an index of what precedes every token: where
// did this end of a text occur, and what followed? Positions are sorted by the tokens before them,
// read backwards, so that an end is looked up by narrowing one range, a token at a time, and the
// longest match falls out of it. Not a trie: it never changes, holds 8 bytes a token, and many
// threads may read it.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"
#include "draft/from_text/ngram/corpus_order.h"

namespace foretoken {

class Corpus {
 public:
  // tokens: documents, each followed by kDocumentEnd; fewer than 2^31. Sorts them: seconds for
  // millions, unless is_over (may be null) becomes true, with which the corpus is empty.
  explicit Corpus(std::vector<Token> tokens, const std::atomic<bool>* is_over = nullptr);

  // Places that are preceded by the same tokens: `context` of them.
  struct Match {
    std::span<const std::int32_t> places;
    int context = 0;
  };
  // Where the end of `text` occurs and something follows: of the longest end that does, with at
  // least `least` and at most `most` tokens. No places: nowhere.
  Match find(std::span<const Token> text, int least, int most) const;

  // The token at a place, or so many after it; kDocumentEnd where its document ended.
  Token at_place(std::int32_t place) const { return tokens_[static_cast<std::size_t>(place)]; }
  // Without the ends of documents.
  std::int64_t num_tokens() const { return num_tokens_; }

 private:
  std::vector<Token> tokens_;
  std::vector<std::int32_t> order_;  // of places that something stands at
  std::int64_t num_tokens_ = 0;
};

}  // namespace foretoken
