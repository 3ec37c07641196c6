#pragma once
// SuffixGrowth: how drafts are read off SuffixTrees (SuffixDecoding). Every end of the text that a
// tree has is a place to draft from: one token after the other that followed most often, as many as
// tokens agree (times a factor), while the chance of all of them, by how often they followed, is no
// less than a bound. The sum of these chances is how many will come true; the drafts of the place
// where it is largest are taken, the longer end where two are alike. No model and no clock.
// Allocates nothing once its vectors have grown. Engine thread only.

#include <span>
#include <vector>

#include "draft/from_text/suffix/suffix_options.h"
#include "draft/from_text/suffix/suffix_trees.h"
#include "draft/from_text/text_drafts.h"

namespace foretoken {

class SuffixGrowth {
 public:
  struct Source {
    const SuffixTrees::Cursor* end;  // of the text, in a tree
    int ended;                       // 1: the tree counts this very end, too
  };

  explicit SuffixGrowth(const SuffixShape& shape) : shape_(shape) {}

  // At most `most` drafts, a chain, valid until the next call. Of sources that are alike the first.
  std::span<const TextDraft> grow(const SuffixTrees& trees, std::span<const Source> sources,
                                  int most);
  // Which of the sources the drafts are from, and how many tokens of them will come true.
  std::size_t source() const { return source_; }
  float score() const { return score_; }

 private:
  int most_after(int agreed, int most) const;
  float draft(const SuffixTrees& trees, const Source& source, int length, int agreed, int most);

  const SuffixShape shape_;
  std::size_t source_ = 0;
  float score_ = 0;
  std::vector<TextDraft> best_, drafts_;
};

}  // namespace foretoken
