#include "tune/candidate_recorder.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "batch/logit_slices.h"

namespace foretoken {
namespace {

// Rows behind the text that are seen at once, one bit each.
constexpr int kSeen = LevelRows::kPlaces;
// Of a level. Trees of many and of few children mostly follow the same rows.
int most_level_rows(int topk) { return std::min(2 * topk, kSeen); }
// Of a recorded row, in LevelRows: recorded row 0 is the root.
int row_number(int recorded) { return recorded == 0 ? LevelRows::kRoot : recorded; }

}  // namespace

CandidateRecorder::CandidateRecorder(Ops& ops, std::unique_ptr<DraftModel> model, int steps,
                                     int topk, int num_pages, int num_slots)
    : model_(std::move(model)),
      steps_(steps),
      topk_(topk),
      reader_(ops, *model_, num_pages, num_slots, 1 + kSeen),
      finder_(ops, *model_, topk, Coupling::kNever, kLogitSliceBytes),
      rows_(ops, *model_, reader_),
      slots_(at(num_slots)) {
  CHECK(steps >= 1 && topk >= 1);
}

TreeShape CandidateRecorder::needed_room(int steps, int topk) {
  const int rows = most_level_rows(topk);
  return {.steps = steps,
          .topk = rows,
          .nodes = std::min(kMaxTreeNodes, 1 + most_candidates(steps, rows))};
}

// Two nodes, so that it is asked at all.
DraftNeeds CandidateRecorder::needs() const {
  return {.taps = model_->taps(), .max_nodes = 2, .runs_model = true, .scratch_slots = 1 + kSeen};
}

void CandidateRecorder::open(SeqSlot slot, const DraftRequest& request) {
  reader_.open(slot);
  finder_.open(slot);
  slots_[at(slot)] = {.scope = request.scope,
                      .output = static_cast<int>(request.tokens.size() - request.prompt_tokens)};
}

void CandidateRecorder::observe(const CommittedRows& rows) {
  for (const WalkSeq& found : rows.walk.seqs)
    slots_[at(found.slot)].output += static_cast<int>(found.emitted.size());
  reader_.read(rows, pace_);
  finder_.observe(rows);
}

std::vector<RecordedTree> CandidateRecorder::take(std::uint64_t scope) {
  const std::lock_guard lock(mutex_);
  const auto found = texts_.extract(scope);
  return found.empty() ? std::vector<RecordedTree>() : std::move(found.mapped());
}

// ---- growing: topk_ trees of each sequence, that of one child per node first

void CandidateRecorder::propose(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits,
                                DraftTrees&) {
  const std::lock_guard lock(mutex_);
  start_growing(slots, limits);
  grower_.grow(*this, pace_);
}

void CandidateRecorder::start_growing(std::span<const SeqSlot> slots,
                                      std::span<const TreeLimits> limits) {
  num_growing_ = 0;
  rows_.clear();
  grower_.clear();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Slot& slot = slots_[at(slots[i])];
    if (reader_.sequence_of(slots[i]) < 0 || limits[i].depth < 1 || slot.output < 1) continue;
    if (growing_.size() == num_growing_) growing_.emplace_back();
    Growing& growing = growing_[num_growing_++];
    auto& trees = texts_[slot.scope];
    trees.resize(at(slot.output));
    growing.slot = slots[i];
    growing.record = &trees.back();
    *growing.record = {.rows = {{}}, .tokens = {}, .chances = {}};
    growing.first_new = 0;
    growing.places.resize(at(topk_));
    for (int k = 0; k < topk_; ++k) {
      growing.places[at(k)].clear();
      grower_.add({.steps = steps_, .topk = k + 1, .nodes = kMaxTreeNodes},
                  {.nodes = kMaxTreeNodes, .depth = limits[i].depth}, 0);
    }
    rows_.add_root(slots[i]);
  }
}

void CandidateRecorder::compute(int level, int) {
  if (level > 0) {
    rows_.begin_level(level);
    for (std::size_t i = 0; i < num_growing_; ++i) add_rows(i);
  }
  finder_.clear();
  bool has_rows = false;
  for (std::size_t i = 0; i < num_growing_; ++i)
    for (auto row = growing_[i].first_new; at(row) < growing_[i].record->rows.size(); ++row) {
      finder_.add_row(growing_[i].slot, {});
      has_rows = true;
    }
  if (!has_rows) return;
  finder_.find(level == 0 ? rows_.roots() : rows_.forward());
  std::size_t first = 0;
  for (const Growing& growing : std::span(growing_).first(num_growing_)) {
    RecordedTree& record = *growing.record;
    const std::size_t count = (record.rows.size() - at(growing.first_new)) * at(topk_);
    const auto tokens = finder_.tokens().subspan(first, count);
    const auto chances = finder_.chances().subspan(first, count);
    record.tokens.insert(record.tokens.end(), tokens.begin(), tokens.end());
    record.chances.insert(record.chances.end(), chances.begin(), chances.end());
    first += count;
  }
}

// The children of what the tree has followed. Where a row was left out, it has none.
void CandidateRecorder::list(std::size_t tree, std::vector<Token>& tokens,
                             std::vector<float>& probabilities) {
  const int topk = static_cast<int>(tree % at(topk_)) + 1;
  Growing& growing = growing_[tree / at(topk_)];
  std::vector<Place>& places = growing.places[at(topk - 1)];
  const auto add_children = [&](int row) {
    for (int rank = 0; rank < topk; ++rank) {
      const Token token = row < 0 ? kNoToken : growing.record->tokens_of(row, topk_)[at(rank)];
      tokens.push_back(token);
      probabilities.push_back(row < 0 ? 0 : growing.record->chances_of(row, topk_)[at(rank)]);
      if (token >= 0) places.push_back({row, rank});
    }
  };
  const TreeGrowth& growth = grower_.tree(tree);
  if (growth.levels() == 0) return add_children(0);
  for (const int candidate : growth.followed()) add_children(places[at(candidate)].below);
}

// Adds the rows that any tree of the sequence follows, those of the widest first, and says of each
// followed candidate which row it has. Places are free that none of the new rows' ancestors lies
// in.
void CandidateRecorder::add_rows(std::size_t sequence) {
  Growing& growing = growing_[sequence];
  RecordedTree& record = *growing.record;
  growing.first_new = static_cast<int>(record.rows.size());
  wanted_.clear();
  for (int topk = topk_; topk > 0; --topk) {
    const std::size_t tree = sequence * at(topk_) + at(topk - 1);
    if (!grower_.grows(tree)) continue;
    for (const int candidate : grower_.tree(tree).followed()) {
      Place& place = growing.places[at(topk - 1)][at(candidate)];
      const auto known = std::ranges::find_if(wanted_, [&](const RecordedTree::Row& each) {
        return each.parent == place.row && each.rank == place.rank;
      });
      if (known == wanted_.end() && std::ssize(wanted_) == most_level_rows(topk_)) continue;
      place.below = growing.first_new + static_cast<int>(known - wanted_.begin());
      if (known == wanted_.end()) wanted_.push_back({.parent = place.row, .rank = place.rank});
    }
  }
  std::uint64_t taken = 0;
  for (const RecordedTree::Row& each : wanted_)
    taken |= rows_.mask(sequence, row_number(each.parent));
  drop_rows_without_room(growing, static_cast<std::size_t>(kSeen - std::popcount(taken)));
  if (wanted_.empty()) return;
  rows_.begin_sequence(sequence, taken);
  for (const RecordedTree::Row& each : wanted_) {
    const Token token = record.tokens_of(each.parent, topk_)[at(each.rank)];
    rows_.add_row(row_number(static_cast<int>(record.rows.size())), row_number(each.parent), token);
    record.rows.push_back(each);
  }
}

void CandidateRecorder::drop_rows_without_room(Growing& growing, std::size_t room) {
  if (wanted_.size() <= room) return;
  wanted_.resize(room);
  for (std::vector<Place>& places : growing.places)
    for (Place& place : places)
      if (place.below >= growing.first_new + static_cast<int>(room)) place.below = -1;
}

}  // namespace foretoken
