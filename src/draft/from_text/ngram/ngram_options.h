#pragma once
// What the NGRAM drafter is asked for. Plain data; what cannot be is refused where flags are read.

#include <cstdint>
#include <string>

#include "draft/draft_isolation.h"

namespace foretoken {

inline constexpr int kMostNgramDepth = 256;
inline constexpr std::int64_t kMostCorpusTokens = std::int64_t{1} << 29;
inline constexpr std::int64_t kMostNgramNodes = std::int64_t{1} << 30;

// How trees are read off the trie.
struct NgramShape {
  enum class Order { kNewest, kMostFrequent };
  // Tokens of the ends of the text that are looked up; longer ones than the trie stores with a
  // successor are not there.
  int min_window = 1, max_window = 12;
  // Children of a node that are followed: of the longest anchor, and of the shortest.
  int min_breadth = 1, max_breadth = 10;
  Order order = Order::kNewest;
};

struct NgramOptions {
  NgramShape shape;
  int max_depth = 18;                  // of the trie: tokens of the longest run
  std::int64_t capacity = 10'000'000;  // nodes of the trie
  DraftIsolation isolation = DraftIsolation::kKey;
  // Texts of the operator's own.
  int corpus_drafts = 0;                    // of a tree, that come from them; 0: there are none
  std::int64_t corpus_tokens = 10'000'000;  // of all together
  std::string corpus_path;                  // the first of them, a JSONL file; empty: none
};

}  // namespace foretoken
