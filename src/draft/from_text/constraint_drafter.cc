#include "draft/from_text/constraint_drafter.h"

#include <algorithm>
#include <utility>

#include "base/index.h"

namespace foretoken {
namespace {

// Drafts of the most certain kind, until it is known how they fare: the model may cut the same text
// into other tokens, or lay it out otherwise.
constexpr int kContext = 16;

}  // namespace

ConstraintDrafter::ConstraintDrafter(int nodes, int most_drafts, int num_slots,
                                     std::shared_ptr<const DraftPace> pace)
    : nodes_(nodes),
      most_drafts_(most_drafts),
      foreseen_(at(num_slots)),
      offers_(num_slots),
      pace_(std::move(pace)) {}

void ConstraintDrafter::open(SeqSlot slot, const DraftRequest&) {
  if (foreseen_.size() <= at(slot)) foreseen_.resize(at(slot) + 1);
  foreseen_[at(slot)].clear();
  offers_.open(slot);
}

void ConstraintDrafter::close(SeqSlot slot) { foreseen_[at(slot)].clear(); }

void ConstraintDrafter::observe(const CommittedRows& rows) {
  for (const WalkSeq& found : rows.walk.seqs) {
    offers_.learn(found.slot, found.emitted);
    foreseen_[at(found.slot)] = found.foreseen;
  }
}

void ConstraintDrafter::propose(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits,
                                DraftTrees& trees) {
  int left = most_drafts_;
  for (std::size_t n = 0; n < slots.size(); ++n) {
    const std::size_t i = (turn_ + n) % slots.size();
    const auto& foreseen = foreseen_[at(slots[i])];
    const int most = std::min({limits[i].nodes - 1, limits[i].depth, nodes_ - 1, left,
                               static_cast<int>(foreseen.size())});
    drafts_.clear();
    for (int depth = 0; depth < most; ++depth)
      drafts_.push_back(
          {.token = foreseen[at(depth)], .parent = depth - 1, .context = kContext, .share = 1});
    offers_.offer(slots[i], drafts_, *pace_, trees);
    left -= trees.size(slots[i]) - 1;
  }
  if (left <= 0) ++turn_;
}

}  // namespace foretoken
