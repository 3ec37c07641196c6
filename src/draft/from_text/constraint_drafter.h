#pragma once
// ConstraintDrafter: proposes what the constraint of a request lets expect after the end of its
// text, a path: keys, punctuation, constants. The walk has found it (WalkSeq::foreseen), on the
// workers; here it is only offered, as far as it came true lately (TextOffers). Runs no model and
// keeps no texts. Engine thread only.

#include <memory>
#include <vector>

#include "draft/draft_pace.h"
#include "draft/drafter.h"
#include "draft/from_text/text_drafts.h"

namespace foretoken {

inline constexpr int kConstraintDrafts = 256;  // of all trees of a step together, as a service

class ConstraintDrafter final : public Drafter {
 public:
  // nodes: of a tree, root included. most_drafts: of all trees of a step together.
  ConstraintDrafter(int nodes, int most_drafts, int num_slots,
                    std::shared_ptr<const DraftPace> pace = std::make_shared<DraftPace>());

  DraftNeeds needs() const override { return {.taps = {}, .max_nodes = nodes_, .foreseen = true}; }
  void open(SeqSlot slot, const DraftRequest& request) override;
  void close(SeqSlot slot) override;
  void observe(const CommittedRows& rows) override;
  void propose(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits,
               DraftTrees& trees) override;

 private:
  const int nodes_, most_drafts_;
  std::vector<std::vector<Token>> foreseen_;  // by slot
  TextOffers offers_;
  const std::shared_ptr<const DraftPace> pace_;
  std::vector<TextDraft> drafts_;  // of the sequence that is being drafted for
  std::size_t turn_ = 0;           // the sequence that is first where drafts do not suffice for all
};

}  // namespace foretoken
