#pragma once
// What drafters that read texts share: a draft as it is found in a text, and TextOffers, which
// decides what of it is offered and learns from what became of it. A node's score is the chance
// that drafts of its kind have had of late (MatchOdds), times how drafts fared with this sequence;
// the DraftPace says which are worth their row. Drafts are judged by the tokens that were sampled,
// so it does not matter who else has grown the tree, and what was left out is judged as well, as
// far as the sampled text reaches: a kind that has once been poor is not poor for ever. Engine
// thread only.

#include <span>
#include <vector>

#include "base/index.h"
#include "batch/sampling.h"
#include "batch/tree.h"
#include "draft/draft_pace.h"
#include "draft/from_text/match_odds.h"

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
  void offer(SeqSlot slot, std::span<const TextDraft> drafts, const DraftPace& pace,
             DraftTrees& trees);

  struct Outcome {
    int offered = 0, accepted = 0;
  };
  // What was sampled from the root on.
  Outcome learn(SeqSlot slot, std::span<const SampledToken> sampled);

 private:
  struct Found {  // a draft that was found
    Token token = 0;
    int parent = -1;  // found before it; -1: the last token of the text
    int depth = 0;    // 1: a child of that one
    MatchOdds::Kind kind = 0;
    float chance = 0;  // that it comes true if its parent does
    float score = 0;
    int node = 0;  // of the tree; negative: it was left out
    bool came_true = false;
  };
  struct Sequence {
    std::vector<Found> found;           // for the step that is being computed
    float promised = 0, came_true = 0;  // decaying sums of chances and of drafts that were judged
  };

  MatchOdds odds_;
  std::vector<Sequence> sequences_;  // by slot
};

}  // namespace foretoken
