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
constexpr int kSeen = 64;
// Of a level. Trees of many and of few children mostly follow the same rows.
int most_level_rows(int topk) { return std::min(2 * topk, kSeen); }

}  // namespace

CandidateRecorder::CandidateRecorder(Ops& ops, std::unique_ptr<DraftModel> model, int steps,
                                     int topk, int num_pages, int num_slots)
    : ops_(ops),
      model_(std::move(model)),
      steps_(steps),
      topk_(topk),
      reader_(ops, *model_, num_pages, num_slots, 1 + kSeen),
      finder_(ops, *model_, topk, Coupling::kNever, kLogitSliceBytes),
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

// ---- growing

void CandidateRecorder::propose(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits,
                                DraftTrees&) {
  const std::lock_guard lock(mutex_);
  start_growing(slots, limits);
  if (num_growing_ == 0) return;
  DraftRows above = reader_.found();
  const Tensor roots =
      ops_.temp(DType::kF32, {static_cast<std::int64_t>(rows_.size()), above.hidden.dim(1)});
  ops_.gather_rows(above.hidden, rows_, roots);
  add_candidates(roots);
  for (int depth = 1; layout_level(); ++depth) {
    above =
        model_->forward(reader_.lend_batch(), {.features = level_features(above), .depth = depth});
    add_candidates(above.hidden);
  }
}

void CandidateRecorder::start_growing(std::span<const SeqSlot> slots,
                                      std::span<const TreeLimits> limits) {
  num_growing_ = 0;
  rows_.clear();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::int32_t seq = reader_.sequence_of(slots[i]);
    const Slot& slot = slots_[at(slots[i])];
    if (seq < 0 || limits[i].depth < 1 || slot.output < 1) continue;
    if (growing_.size() == num_growing_) growing_.emplace_back();
    Growing& growing = growing_[num_growing_++];
    const BatchSeq& facts = reader_.batch().seqs[at(seq)];
    auto& trees = texts_[slot.scope];
    trees.resize(at(slot.output));
    growing.slot = slots[i];
    growing.seq = facts;
    growing.root = reader_.place_of_root(seq);
    growing.position = reader_.batch().position[at(facts.first_row + facts.rows - 1)];
    growing.end = facts.base + facts.rows;
    growing.record = &trees.back();
    *growing.record = {.rows = {{}}, .tokens = {}, .chances = {}};
    growing.mask.assign(1, 0);
    growing.batch_row.assign(1, growing.root);
    growing.first_new = 0;
    growing.growths.resize(at(topk_));
    for (int k = 0; k < topk_; ++k) {
      Growth& growth = growing.growths[at(k)];
      growth.topk = k + 1;
      growth.is_following = true;
      growth.places.clear();
      growth.tree.start({.steps = steps_, .topk = k + 1, .nodes = kMaxTreeNodes},
                        {.nodes = kMaxTreeNodes, .depth = limits[i].depth});
    }
    rows_.push_back(growing.root);
  }
}

// hidden: the rows of the newest level, of one sequence after the other.
void CandidateRecorder::add_candidates(Tensor hidden) {
  finder_.clear();
  for (std::size_t i = 0; i < num_growing_; ++i)
    for (auto row = growing_[i].first_new; at(row) < growing_[i].record->rows.size(); ++row)
      finder_.add_row(growing_[i].slot, {});
  finder_.find(hidden);
  std::size_t first = 0;
  for (std::size_t i = 0; i < num_growing_; ++i) {
    Growing& growing = growing_[i];
    RecordedTree& record = *growing.record;
    const std::size_t count = (record.rows.size() - at(growing.first_new)) * at(topk_);
    const auto tokens = finder_.tokens().subspan(first, count);
    const auto chances = finder_.chances().subspan(first, count);
    record.tokens.insert(record.tokens.end(), tokens.begin(), tokens.end());
    record.chances.insert(record.chances.end(), chances.begin(), chances.end());
    first += count;
    for (Growth& growth : growing.growths)
      if (growth.is_following) feed(growing, growth);
  }
}

// The children of what the growth has followed. Where a row was left out, it has none.
void CandidateRecorder::feed(Growing& growing, Growth& growth) {
  tokens_.clear();
  chances_.clear();
  const auto add_children = [&](int row) {
    for (int rank = 0; rank < growth.topk; ++rank) {
      const Token token = row < 0 ? kNoToken : growing.record->tokens_of(row, topk_)[at(rank)];
      tokens_.push_back(token);
      chances_.push_back(row < 0 ? 0 : growing.record->chances_of(row, topk_)[at(rank)]);
      if (token >= 0) growth.places.push_back({row, rank});
    }
  };
  if (growth.tree.levels() == 0)
    add_children(0);
  else
    for (const int candidate : growth.tree.followed())
      add_children(growth.places[at(candidate)].below);
  growth.tree.add_level(tokens_, chances_);
}

bool CandidateRecorder::layout_level() {
  reader_.lend_batch().clear_rows();
  rows_.clear();
  for (std::size_t i = 0; i < num_growing_; ++i) add_level_rows(growing_[i]);
  return !rows_.empty();
}

// Those of the widest growth first. Slots are free that none of the new rows' ancestors lies in.
void CandidateRecorder::add_level_rows(Growing& growing) {
  RecordedTree& record = *growing.record;
  growing.first_new = static_cast<int>(record.rows.size());
  std::uint64_t taken = 0;
  int depth = 0;
  struct Wanted {
    int parent, rank;
  };
  std::vector<Wanted> wanted;
  for (auto growth = growing.growths.rbegin(); growth != growing.growths.rend(); ++growth) {
    const TreeGrowth& tree = growth->tree;
    growth->is_following =
        growth->is_following && tree.levels() < tree.most_levels() && !tree.followed().empty();
    if (!growth->is_following) continue;
    depth = tree.levels();
    for (const int candidate : tree.followed()) {
      Growth::Place& place = growth->places[at(candidate)];
      const auto known = std::ranges::find_if(wanted, [&](const Wanted& each) {
        return each.parent == place.row && each.rank == place.rank;
      });
      if (known == wanted.end() && std::ssize(wanted) == most_level_rows(topk_)) continue;
      place.below = growing.first_new + static_cast<int>(known - wanted.begin());
      if (known == wanted.end()) wanted.push_back({place.row, place.rank});
    }
  }
  for (const Wanted& each : wanted) taken |= growing.mask[at(each.parent)];
  const auto room = static_cast<std::size_t>(kSeen - std::popcount(taken));
  if (wanted.size() > room) {
    wanted.resize(room);
    for (Growth& growth : growing.growths)
      for (Growth::Place& place : growth.places)
        if (place.below >= growing.first_new + static_cast<int>(room)) place.below = -1;
  }
  if (wanted.empty()) return;
  Batch& level = reader_.lend_batch();
  growing.seq.first_row = level.rows;
  growing.seq.rows = growing.seq.chain = 0;
  growing.seq.base = growing.end;
  growing.seq.is_chain = false;
  level.seqs.push_back(growing.seq);
  for (const Wanted& each : wanted) {
    const int free = std::countr_one(taken);
    const std::uint64_t bit = std::uint64_t{1} << free;
    taken |= bit;
    rows_.push_back(growing.batch_row[at(each.parent)]);
    record.rows.push_back({.parent = each.parent, .rank = each.rank});
    growing.mask.push_back(growing.mask[at(each.parent)] | bit);
    growing.batch_row.push_back(level.rows);
    add_draft_row(level, reader_.readable(record.tokens_of(each.parent, topk_)[at(each.rank)]),
                  growing.position + depth, growing.end + free, growing.mask.back());
  }
}

// What the rows of the level read: the features of the rows above them.
Tensor CandidateRecorder::level_features(const DraftRows& above) {
  if (!reader_.reads_features()) return {};
  const Tensor out =
      ops_.temp(DType::kF32, {static_cast<std::int64_t>(rows_.size()), above.feature.dim(1)});
  ops_.gather_rows(above.feature, rows_, out);
  return out;
}

}  // namespace foretoken
