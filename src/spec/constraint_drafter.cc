#include "spec/constraint_drafter.h"

#include <algorithm>

#include "base/index.h"

namespace foretoken {
namespace {

// That the next token is the expected one, where the one before was: the model may cut the same
// text into other tokens.
constexpr float kChance = 0.95F;

}  // namespace

ConstraintDrafter::ConstraintDrafter(int nodes, int most_drafts, int num_slots)
    : nodes_(nodes), most_drafts_(most_drafts), foreseen_(at(num_slots)) {}

void ConstraintDrafter::open(SeqSlot slot, const DraftRequest&) {
  if (foreseen_.size() <= at(slot)) foreseen_.resize(at(slot) + 1);
  foreseen_[at(slot)].clear();
}

void ConstraintDrafter::close(SeqSlot slot) { foreseen_[at(slot)].clear(); }

void ConstraintDrafter::observe(const CommittedRows& rows) {
  for (const WalkSeq& found : rows.walk.seqs) foreseen_[at(found.slot)] = found.foreseen;
}

void ConstraintDrafter::propose(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits,
                                DraftTrees& trees) {
  int left = most_drafts_;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const int most = std::min({limits[i].nodes - 1, limits[i].depth, nodes_ - 1, left});
    int node = 0;
    float chance = 1.0F;
    for (const Token token : foreseen_[at(slots[i])]) {
      if (node >= most || node < 0) break;
      node = trees.grow(slots[i], node, token, chance *= kChance);
    }
    left -= std::max(node, 0);
  }
}

}  // namespace foretoken
