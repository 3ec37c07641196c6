#pragma once
// CorpusGrowth: drafts from a Corpus: what followed the longest end of the text that occurs there,
// the most frequent or the newest first. Of many places some are looked at, spread evenly, so a
// growth costs the same in a corpus of any size. No model and no clock. Allocates nothing once its
// vectors have grown. Engine thread only.

#include <cstdint>
#include <span>
#include <vector>

#include "draft/from_text/draft_list.h"
#include "draft/from_text/ngram/corpus.h"
#include "draft/from_text/ngram/ngram_options.h"

namespace foretoken {

class CorpusGrowth {
 public:
  explicit CorpusGrowth(const NgramShape& shape) : shape_(shape) {}

  // Where a text ends like this.
  Corpus::Match find(const Corpus& corpus, std::span<const Token> end) const {
    return corpus.find(end, shape_.min_window, shape_.max_window);
  }
  // Adds at most `most` drafts of what followed there, none more than `depth` tokens ahead.
  void grow(const Corpus& corpus, const Corpus::Match& match, int most, int depth,
            DraftList& drafts);

 private:
  struct Node {  // a run that followed at some of the places
    Token token;
    int parent, depth;  // -1: the places themselves
    int count = 0;
    std::int32_t newest = 0;  // of its places
    int first_child = -1, next = -1;
    int draft = -1;
  };
  void read(const Corpus& corpus, std::int32_t place, int depth);
  int child(int parent, Token token);

  const NgramShape shape_;
  std::vector<Node> nodes_;
  std::vector<int> order_;
};

}  // namespace foretoken
