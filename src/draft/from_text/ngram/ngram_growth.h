#pragma once
// NgramGrowth: how a draft tree is read off an NgramTrie. Every end of the text that occurred
// before is an anchor, the longest first; what followed it there are the drafts. Long anchors give
// narrow trees, short ones wide trees, which share their equal paths. Either in the order of what
// occurred last (SGLang's BFS) or of what occurred most often (PROB). Drafts come as they are
// found, so any beginning of the list is a tree. No model and no clock. Allocates nothing once its
// vectors have grown. Engine thread only.

#include <cstddef>
#include <vector>

#include "draft/from_text/draft_list.h"
#include "draft/from_text/ngram/ngram_options.h"
#include "draft/from_text/ngram/ngram_trie.h"

namespace foretoken {

class NgramGrowth {
 public:
  explicit NgramGrowth(const NgramShape& shape) : shape_(shape) {}

  // Adds drafts for the text of the cursor until there are `most`, none of them more than `depth`
  // tokens ahead.
  void grow(const NgramTrie& trie, const NgramTrie::Cursor& cursor, int most, int depth,
            DraftList& drafts);

 private:
  struct Found {  // a node of the trie whose children are to follow
    NgramTrie::Id node;
    int draft;    // -1: an anchor
    int context;  // of its children
    float breadth;
  };
  struct Candidate {  // a node of the trie that is to become a draft
    NgramTrie::Id node;
    int parent, context;
    float share;
    float probability;  // of the path from the anchor
    int order;          // of candidates, as they were found
  };

  bool is_full() const { return drafts_->size() >= most_; }
  void grow_newest(const NgramTrie& trie, const Found& anchor);
  void grow_most_frequent(const NgramTrie& trie, const Found& anchor);
  void push_most_frequent(const NgramTrie& trie, const Found& from, float probability);
  static float share_of(const NgramTrie& trie, const Found& from, NgramTrie::Id child);
  // The draft with the token of this node.
  int add(const NgramTrie& trie, const Candidate& candidate);

  const NgramShape shape_;
  float breadth_step_ = 0;
  std::size_t most_ = 0;
  int depth_ = 0;
  DraftList* drafts_ = nullptr;  // during grow()
  std::vector<Found> waiting_;
  std::vector<Candidate> heap_;
  std::vector<NgramTrie::Id> ranked_;
  int candidates_ = 0;
};

}  // namespace foretoken
