#include "draft/with_model/model_drafter.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/error.h"
#include "base/index.h"

namespace foretoken {
namespace {

TreeShape checked(const TreeShape& shape) {
  const auto fail = [](const char* what, const std::string& expected, int found) {
    throw Error({what, "the shape of draft trees", expected, std::to_string(found)});
  };
  if (shape.steps < 1) fail("too few draft steps", "at least 1", shape.steps);
  if (shape.topk < 1) fail("too few tokens per draft step", "at least 1", shape.topk);
  if (shape.nodes < 2 || shape.nodes > kMaxTreeNodes)
    fail("a tree of this size cannot be verified",
         "2 to " + std::to_string(kMaxTreeNodes) + " draft tokens", shape.nodes);
  return needed_shape(shape);
}

}  // namespace

ModelDrafter::ModelDrafter(Ops& ops, std::unique_ptr<DraftModel> model, const TreeShape& shape,
                           int num_pages, int num_slots, std::shared_ptr<DraftPace> pace,
                           std::size_t logit_slice_bytes, Coupling coupling)
    : ops_(ops),
      model_(std::move(model)),
      shape_(checked(shape)),
      pace_(std::move(pace)),
      reader_(ops, *model_, num_pages, num_slots, draft_slots(shape_)),
      finder_(ops, *model_, shape_.topk, coupling, logit_slice_bytes) {}

DraftNeeds ModelDrafter::needs() const {
  return {.taps = model_->taps(),
          .max_nodes = shape_.nodes,
          .runs_model = true,
          .scratch_slots = draft_slots(shape_)};
}

void ModelDrafter::open(SeqSlot slot, const DraftRequest&) {
  pace_->open(slot);
  reader_.open(slot);
  finder_.open(slot);
}

void ModelDrafter::close(SeqSlot) {}

DraftReport ModelDrafter::report(SeqSlot slot) const {
  DraftReport report;
  const auto rows = finder_.row_counts(slot);
  report.greedy_rows = rows.greedy;
  report.coupled_rows = rows.coupled;
  return report;
}

void ModelDrafter::observe(const CommittedRows& rows) {
  pace_->observe(rows);
  reader_.read(rows, *pace_);
  finder_.observe(rows);
}

void ModelDrafter::start_growing(std::span<const SeqSlot> slots,
                                 std::span<const TreeLimits> limits) {
  num_growing_ = 0;
  rows_.clear();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::int32_t seq = reader_.sequence_of(slots[i]);
    if (seq < 0 || limits[i].nodes < 2 || limits[i].depth < 1) continue;
    if (growing_.size() == num_growing_) growing_.emplace_back();
    Growing& growing = growing_[num_growing_++];
    const BatchSeq& facts = reader_.batch().seqs[at(seq)];
    growing.slot = slots[i];
    growing.seq = facts;
    growing.root = reader_.place_of_root(seq);
    growing.position = reader_.batch().position[at(facts.first_row + facts.rows - 1)];
    growing.end = facts.base + facts.rows;
    growing.is_following = true;
    growing.growth.start(shape_, limits[i], pace_->least_score());
    growing.slot_bit.clear();
    growing.mask.clear();
    growing.row.clear();
    rows_.push_back(growing.root);
  }
}

// The rows of a sequence that are followed, for those who look for their children.
void ModelDrafter::list_rows(const Growing& growing) {
  const TreeGrowth& growth = growing.growth;
  path_.clear();
  if (growth.levels() == 0) finder_.add_row(growing.slot, path_);
  for (const int candidate : growth.followed()) {
    path_.clear();
    for (int node = candidate; node >= 0; node = growth.parent(node))
      path_.push_back(growth.token(node));
    std::ranges::reverse(path_);
    finder_.add_row(growing.slot, path_);
  }
}

// hidden: the rows that were followed, of one sequence after the other.
void ModelDrafter::add_candidates(Tensor hidden) {
  finder_.clear();
  for (std::size_t i = 0; i < num_growing_; ++i)
    if (growing_[i].is_following) list_rows(growing_[i]);
  finder_.find(hidden);
  std::size_t first = 0;
  for (std::size_t i = 0; i < num_growing_; ++i) {
    Growing& growing = growing_[i];
    if (!growing.is_following) continue;
    TreeGrowth& growth = growing.growth;
    const std::size_t rows = growth.levels() == 0 ? 1 : growth.followed().size();
    const std::size_t count = rows * at(shape_.topk);
    const auto found = finder_.chances().subspan(first, count);
    chances_.assign(found.begin(), found.end());
    pace_->rate(growth.levels(), chances_);
    growth.add_level(finder_.tokens().subspan(first, count), chances_);
    first += count;
  }
}

// What cannot get into the tree any more leads to nothing that could, so its slot is free. A tree
// keeps fewer candidates than a mask has bits, so there always is a free one for each of the next
// level.
std::uint64_t ModelDrafter::Growing::slots_taken() const {
  std::uint64_t taken = 0;
  for (const int candidate : growth.kept())
    if (at(candidate) < slot_bit.size()) taken |= slot_bit[at(candidate)];
  return taken;
}

void ModelDrafter::add_level_rows(Growing& growing) {
  const TreeGrowth& growth = growing.growth;
  Batch& level = reader_.lend_batch();
  growing.seq.first_row = level.rows;
  growing.seq.rows = growing.seq.chain = 0;
  growing.seq.base = growing.end;
  growing.seq.is_chain = false;
  level.seqs.push_back(growing.seq);
  std::uint64_t taken = growing.slots_taken();
  for (const int candidate : growth.followed()) {
    const int parent = growth.parent(candidate);
    const int free = std::countr_one(taken);
    const std::uint64_t bit = std::uint64_t{1} << free;
    const std::uint64_t ancestors = parent < 0 ? 0 : growing.mask[at(parent)];
    taken |= bit;
    rows_.push_back(parent < 0 ? growing.root : growing.row[at(parent)]);
    if (growing.mask.size() <= at(candidate)) {
      growing.slot_bit.resize(at(candidate) + 1);
      growing.mask.resize(at(candidate) + 1);
      growing.row.resize(at(candidate) + 1);
    }
    growing.slot_bit[at(candidate)] = bit;
    growing.mask[at(candidate)] = ancestors | bit;
    growing.row[at(candidate)] = level.rows;
    add_draft_row(level, reader_.readable(growth.token(candidate)),
                  growing.position + growth.levels(), growing.end + free,
                  growing.mask[at(candidate)]);
  }
}

// The sequences that have rows in the next level.
void ModelDrafter::choose_following() {
  for (std::size_t i = 0; i < num_growing_; ++i) {
    Growing& growing = growing_[i];
    const TreeGrowth& growth = growing.growth;
    growing.is_following = growing.is_following && growth.levels() < growth.most_levels() &&
                           !growth.followed().empty();
  }
}

bool ModelDrafter::is_level_worth() const {
  double promised = 0;
  int rows = 0;
  for (std::size_t i = 0; i < num_growing_; ++i) {
    if (!growing_[i].is_following) continue;
    const TreeGrowth& growth = growing_[i].growth;
    rows += static_cast<int>(growth.followed().size());
    for (const int candidate : growth.followed())
      promised += static_cast<double>(growth.score(candidate));
  }
  return rows > 0 && pace_->is_level_worth(rows, promised);
}

// The rows of the next level; false when there are none.
bool ModelDrafter::layout_level() {
  choose_following();
  if (!is_level_worth()) return false;
  reader_.lend_batch().clear_rows();
  rows_.clear();
  for (std::size_t i = 0; i < num_growing_; ++i)
    if (growing_[i].is_following) add_level_rows(growing_[i]);
  return true;
}

// What the rows of the level read: the features of the rows above them.
Tensor ModelDrafter::level_features(const DraftRows& above) {
  if (!reader_.reads_features()) return {};
  const Tensor out =
      ops_.temp(DType::kF32, {static_cast<std::int64_t>(rows_.size()), above.feature.dim(1)});
  ops_.gather_rows(above.feature, rows_, out);
  return out;
}

void ModelDrafter::propose(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits,
                           DraftTrees& trees) {
  start_growing(slots, limits);
  if (num_growing_ > 0) grow_levels();
  for (Growing& growing : std::span(growing_).first(num_growing_))
    pace_->plant(growing.slot, growing.growth.plant(growing.slot, trees));
  pace_->end_growth();
}

void ModelDrafter::grow_levels() {
  pace_->begin_forward(DraftWork::kRoots);
  DraftRows above = reader_.found();
  const Tensor roots =
      ops_.temp(DType::kF32, {static_cast<std::int64_t>(rows_.size()), above.hidden.dim(1)});
  ops_.gather_rows(above.hidden, rows_, roots);
  add_candidates(roots);
  pace_->end_forward(static_cast<int>(num_growing_));
  for (int depth = 1; layout_level(); ++depth) {
    pace_->begin_forward(DraftWork::kLevel);
    above =
        model_->forward(reader_.lend_batch(), {.features = level_features(above), .depth = depth});
    add_candidates(above.hidden);
    pace_->end_forward(reader_.batch().rows);
  }
}

}  // namespace foretoken
