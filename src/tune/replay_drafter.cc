#include "tune/replay_drafter.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/index.h"

namespace foretoken {

ReplayDrafter::ReplayDrafter(const TreeShape& shape, int width, int num_slots,
                             std::shared_ptr<DraftPace> pace, ReplayClock& clock)
    : shape_(needed_shape(shape)),
      width_(width),
      pace_(std::move(pace)),
      clock_(clock),
      slots_(at(num_slots)) {
  CHECK(shape_.topk <= width_) << "the record has fewer candidates";
}

DraftNeeds ReplayDrafter::needs() const {
  return {.taps = {}, .max_nodes = shape_.nodes, .runs_model = true};
}

void ReplayDrafter::open(SeqSlot slot, const DraftRequest& request) {
  Slot& s = slots_[at(slot)];
  CHECK(s.seated != nullptr);
  s.output = static_cast<int>(request.tokens.size() - request.prompt_tokens);
  s.has_root = false;
}

// What a DraftReader reads: all that was committed and the root behind it; of those that rest, only
// prompts, and of those that sleep nothing.
void ReplayDrafter::observe(const CommittedRows& rows) {
  int read = 0;
  for (std::size_t i = 0; i < rows.walk.seqs.size(); ++i) {
    const WalkSeq& found = rows.walk.seqs[i];
    const int chain = rows.batch.seqs[i].chain;
    Slot& s = slots_[at(found.slot)];
    s.output += static_cast<int>(found.emitted.size());
    const bool rests = pace_->rests(found.slot);
    s.has_root = !rests && !found.emitted.empty();
    if (pace_->sleeps(found.slot) || (rests && chain == 0)) continue;
    read += chain + static_cast<int>(found.path.size()) + (s.has_root ? 1 : 0);
  }
  if (read == 0) return;
  pace_->begin_forward(DraftWork::kReading);
  if (clock_.costs != nullptr) clock_.pass(clock_.costs->reading.of(read), clock_.reading);
  pace_->end_forward(read);
}

void ReplayDrafter::propose(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits,
                            DraftTrees& trees) {
  start_growing(slots, limits);
  grower_.grow(*this, *pace_);
  for (std::size_t i = 0; i < grower_.size(); ++i) grower_.plant(i, growing_[i].slot, trees);
}

void ReplayDrafter::start_growing(std::span<const SeqSlot> slots,
                                  std::span<const TreeLimits> limits) {
  grower_.clear();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Slot& s = slots_[at(slots[i])];
    if (!s.has_root || s.output < 1 || limits[i].nodes < 2 || limits[i].depth < 1) continue;
    if (at(s.output) > s.seated->trees.size() || s.seated->trees[at(s.output - 1)].empty()) {
      ++unanswered_;
      continue;
    }
    const std::size_t tree = grower_.add(shape_, limits[i], pace_->least_score());
    if (growing_.size() == tree) growing_.emplace_back();
    Growing& growing = growing_[tree];
    growing.slot = slots[i];
    growing.record = &s.seated->trees[at(s.output - 1)];
    growing.places.clear();
    growing.below.assign(growing.record->rows.size() * at(width_), -1);
    for (std::size_t row = 1; row < growing.record->rows.size(); ++row) {
      const RecordedTree::Row& known = growing.record->rows[row];
      growing.below[at(known.parent) * at(width_) + at(known.rank)] = static_cast<int>(row);
    }
  }
}

void ReplayDrafter::compute(int level, int rows) {
  if (clock_.costs == nullptr) return;
  if (level == 0)
    clock_.pass(clock_.costs->roots.of(rows), clock_.roots);
  else
    clock_.pass(clock_.costs->level.of(rows), clock_.levels);
}

void ReplayDrafter::list(std::size_t tree, std::vector<Token>& tokens,
                         std::vector<float>& probabilities) {
  Growing& growing = growing_[tree];
  const TreeGrowth& growth = grower_.tree(tree);
  const auto add_children = [&](int row) {
    for (int rank = 0; rank < shape_.topk; ++rank) {
      const Token token = row < 0 ? kNoToken : growing.record->tokens_of(row, width_)[at(rank)];
      tokens.push_back(token);
      probabilities.push_back(row < 0 ? 0 : growing.record->chances_of(row, width_)[at(rank)]);
      if (token >= 0) growing.places.push_back({row, rank});
    }
  };
  if (growth.levels() == 0) return add_children(0);
  for (const int candidate : growth.followed()) {
    const Place place = growing.places[at(candidate)];
    const int row = growing.below[at(place.row) * at(width_) + at(place.rank)];
    if (row < 0) ++unanswered_;
    add_children(row);
  }
}

}  // namespace foretoken
