#include "draft/with_model/model_drafter.h"

#include <algorithm>
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
    : model_(std::move(model)),
      shape_(checked(shape)),
      pace_(std::move(pace)),
      reader_(ops, *model_, num_pages, num_slots, draft_slots(shape_)),
      finder_(ops, *model_, shape_.topk, coupling, logit_slice_bytes),
      rows_(ops, *model_, reader_) {}

DraftNeeds ModelDrafter::needs() const {
  return {.taps = model_->taps(),
          .max_nodes = shape_.nodes,
          .runs_model = true,
          .scratch_slots = draft_slots(shape_)};
}

void ModelDrafter::open(SeqSlot slot, const DraftRequest& request) {
  model_->see(request.tokens);
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
  see_emitted(rows.walk);
  reader_.read(rows, *pace_);
  finder_.observe(rows);
}

void ModelDrafter::see_emitted(const Walk& walk) {
  emitted_.clear();
  for (const WalkSeq& seq : walk.seqs)
    for (const SampledToken& sampled : seq.emitted) emitted_.push_back(sampled.token);
  model_->see(emitted_);
}

void ModelDrafter::propose(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits,
                           DraftTrees& trees) {
  start_growing(slots, limits);
  grower_.grow(*this, *pace_);
  for (std::size_t i = 0; i < grower_.size(); ++i) grower_.plant(i, growing_[i], trees);
}

void ModelDrafter::start_growing(std::span<const SeqSlot> slots,
                                 std::span<const TreeLimits> limits) {
  growing_.clear();
  grower_.clear();
  rows_.clear();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const bool has_root = reader_.sequence_of(slots[i]) >= 0;
    if (!has_root || limits[i].nodes < 2 || limits[i].depth < 1) continue;
    growing_.push_back(slots[i]);
    rows_.add_root(slots[i]);
    grower_.add(shape_, limits[i], pace_->least_score());
  }
}

void ModelDrafter::compute(int level, int) {
  if (level > 0) {
    rows_.begin_level(level);
    for (std::size_t i = 0; i < grower_.size(); ++i)
      if (grower_.grows(i)) add_rows(i);
  }
  const Tensor hidden = level == 0 ? rows_.roots() : rows_.forward();
  finder_.clear();
  for (std::size_t i = 0; i < grower_.size(); ++i)
    if (grower_.grows(i)) add_to_finder(i);
  finder_.find(hidden);
  listed_ = 0;
}

// What cannot get into the tree any more leads to nothing that could, so its place is free. A tree
// keeps fewer candidates than a mask has bits, so there always is a free one for each of the next
// level.
void ModelDrafter::add_rows(std::size_t tree) {
  const TreeGrowth& growth = grower_.tree(tree);
  std::uint64_t taken = 0;
  for (const int candidate : growth.kept()) taken |= rows_.place(tree, candidate);
  rows_.begin_sequence(tree, taken);
  for (const int candidate : growth.followed())
    rows_.add_row(candidate, growth.parent(candidate), growth.token(candidate));
}

// The rows of a tree whose children are looked for.
void ModelDrafter::add_to_finder(std::size_t tree) {
  const TreeGrowth& growth = grower_.tree(tree);
  path_.clear();
  if (growth.levels() == 0) finder_.add_row(growing_[tree], path_);
  for (const int candidate : growth.followed()) {
    path_.clear();
    for (int node = candidate; node >= 0; node = growth.parent(node))
      path_.push_back(growth.token(node));
    std::ranges::reverse(path_);
    finder_.add_row(growing_[tree], path_);
  }
}

void ModelDrafter::list(std::size_t tree, std::vector<Token>& tokens,
                        std::vector<float>& probabilities) {
  const TreeGrowth& growth = grower_.tree(tree);
  const std::size_t rows = growth.levels() == 0 ? 1 : growth.followed().size();
  const std::size_t count = rows * at(shape_.topk);
  const auto found = finder_.tokens().subspan(listed_, count);
  const auto chances = finder_.chances().subspan(listed_, count);
  tokens.insert(tokens.end(), found.begin(), found.end());
  probabilities.insert(probabilities.end(), chances.begin(), chances.end());
  listed_ += count;
}

}  // namespace foretoken
