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
  pace_->open(slot);
  Slot& s = slots_[at(slot)];
  CHECK(s.seated != nullptr);
  s.output = static_cast<int>(request.tokens.size() - request.prompt_tokens);
  s.has_root = false;
}

// What a DraftReader reads: all that was committed and the root behind it; of those that rest, only
// prompts, and of those that sleep nothing.
void ReplayDrafter::observe(const CommittedRows& rows) {
  pace_->observe(rows);
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
  if (num_growing_ > 0) {
    const auto roots = static_cast<int>(num_growing_);
    pace_->begin_forward(DraftWork::kRoots);
    for (std::size_t i = 0; i < num_growing_; ++i) add_level(growing_[i]);
    if (clock_.costs != nullptr) clock_.pass(clock_.costs->roots.of(roots), clock_.roots);
    pace_->end_forward(roots);
    for (int rows = choose_following(); rows > 0; rows = choose_following()) {
      pace_->begin_forward(DraftWork::kLevel);
      for (std::size_t i = 0; i < num_growing_; ++i) {
        if (growing_[i].is_following) add_level(growing_[i]);
      }
      if (clock_.costs != nullptr) clock_.pass(clock_.costs->level.of(rows), clock_.levels);
      pace_->end_forward(rows);
    }
  }
  for (Growing& growing : std::span(growing_).first(num_growing_))
    pace_->plant(growing.slot, growing.growth.plant(growing.slot, trees));
  pace_->end_growth();
}

void ReplayDrafter::start_growing(std::span<const SeqSlot> slots,
                                  std::span<const TreeLimits> limits) {
  num_growing_ = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Slot& s = slots_[at(slots[i])];
    if (!s.has_root || s.output < 1 || limits[i].nodes < 2 || limits[i].depth < 1) continue;
    if (at(s.output) > s.seated->trees.size() || s.seated->trees[at(s.output - 1)].empty()) {
      ++unanswered_;
      continue;
    }
    if (growing_.size() == num_growing_) growing_.emplace_back();
    Growing& growing = growing_[num_growing_++];
    growing.slot = slots[i];
    growing.record = &s.seated->trees[at(s.output - 1)];
    growing.is_following = true;
    growing.growth.start(shape_, limits[i], pace_->least_score());
    growing.places.clear();
    growing.below.assign(growing.record->rows.size() * at(width_), -1);
    for (std::size_t row = 1; row < growing.record->rows.size(); ++row) {
      const RecordedTree::Row& known = growing.record->rows[row];
      growing.below[at(known.parent) * at(width_) + at(known.rank)] = static_cast<int>(row);
    }
  }
}

void ReplayDrafter::add_level(Growing& growing) {
  tokens_.clear();
  chances_.clear();
  TreeGrowth& growth = growing.growth;
  const auto add_children = [&](int row) {
    for (int rank = 0; rank < shape_.topk; ++rank) {
      const Token token = row < 0 ? kNoToken : growing.record->tokens_of(row, width_)[at(rank)];
      tokens_.push_back(token);
      chances_.push_back(row < 0 ? 0 : growing.record->chances_of(row, width_)[at(rank)]);
      if (token >= 0) growing.places.push_back({row, rank});
    }
  };
  if (growth.levels() == 0)
    add_children(0);
  else
    for (const int candidate : growth.followed()) {
      const Place place = growing.places[at(candidate)];
      const int row = growing.below[at(place.row) * at(width_) + at(place.rank)];
      if (row < 0) ++unanswered_;
      add_children(row);
    }
  pace_->rate(growth.levels(), chances_);
  growth.add_level(tokens_, chances_);
}

// The rows of the next level, 0 where there is none or it is not worth it.
int ReplayDrafter::choose_following() {
  int rows = 0;
  double promised = 0;
  for (std::size_t i = 0; i < num_growing_; ++i) {
    Growing& growing = growing_[i];
    const TreeGrowth& growth = growing.growth;
    growing.is_following = growing.is_following && growth.levels() < growth.most_levels() &&
                           !growth.followed().empty();
    if (!growing.is_following) continue;
    rows += static_cast<int>(growth.followed().size());
    for (const int candidate : growth.followed())
      promised += static_cast<double>(growth.score(candidate));
  }
  return rows > 0 && pace_->is_level_worth(rows, promised) ? rows : 0;
}

}  // namespace foretoken
