#pragma once
// What drafters that read texts share: a draft as it is found in a text, and TextOffers, which
// decides what of it is offered and learns from what became of it. A node's score is the chance
// that drafts of its kind have had of late (MatchOdds), times how drafts fared with this sequence;
// the DraftPace says which are worth their row. Drafts are known again by the tokens that were
// sampled, so it does not matter who else has grown the tree. Engine thread only.

#include <span>
#include <vector>

#include "base/index.h"
#include "batch/sampling.h"
#include "batch/tree.h"
#include "spec/draft_pace.h"
#include "spec/match_odds.h"

namespace foretoken {

struct TextDraft {
  Token token;
  int parent;   // an earlier draft; -1: the last token of the text
  int context;  // tokens before it that occurred before it there, too
  float share;  // how often it was this token that followed these, 0 to 1
};

class TextOffers {
 public:
  explicit TextOffers(int num_slots) : sequences_(at(num_slots)) {}

  void open(SeqSlot slot);
  // Those that are worth it become nodes of the tree.
  void offer(SeqSlot slot, std::span<const TextDraft> drafts, DraftPace& pace, DraftTrees& trees);

  struct Outcome {
    int offered = 0, accepted = 0;
  };
  // What was sampled from the root on.
  Outcome learn(SeqSlot slot, std::span<const SampledToken> sampled);

  // Of the nodes of the tree that was grown last, without the root.
  std::span<const float> scores(SeqSlot slot) const { return sequences_[at(slot)].scores; }

 private:
  struct Offered {
    Token token;
    int node;    // of the tree
    int parent;  // offered before it; -1: the root
    int depth;   // 1: a child of the root
    MatchOdds::Kind kind;
    bool came_true;
  };
  struct Sequence {
    std::vector<Offered> offered;
    std::vector<float> scores;         // of them
    float promised = 0, accepted = 0;  // decaying sums over its trees
  };

  MatchOdds odds_;
  std::vector<Sequence> sequences_;  // by slot
  std::vector<int> place_;           // by draft: where in `offered` it is, -1: nowhere
};

}  // namespace foretoken
