#include "spec/model_drafter.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace foretoken {
namespace {

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
constexpr std::int32_t pages_of(std::int32_t tokens) {
  return (tokens + kPageTokens - 1) / kPageTokens;
}

void check_shape(const TreeShape& shape) {
  const auto fail = [](const char* what, const std::string& expected, int found) {
    throw Error({what, "the shape of draft trees", expected, std::to_string(found)});
  };
  if (shape.steps < 1) fail("too few draft steps", "at least 1", shape.steps);
  if (shape.topk < 1) fail("too few tokens per draft step", "at least 1", shape.topk);
  if (shape.nodes < 2 || shape.nodes > kMaxTreeNodes)
    fail("a tree of this size cannot be verified",
         "2 to " + std::to_string(kMaxTreeNodes) + " draft tokens", shape.nodes);
  const std::int64_t stored = std::int64_t{shape.steps - 1} * shape.topk;
  if (stored > kMaxTreeNodes)
    throw Error({"the draft tree is too large", "the shape of draft trees",
                 "(steps - 1) * topk of at most " + std::to_string(kMaxTreeNodes),
                 std::to_string(stored)});
}

// A row of the newest sequence, stored at index `slot` of its pages.
void add_row(Batch& batch, Token token, std::int32_t position, std::int32_t slot,
             std::uint64_t mask) {
  BatchSeq& seq = batch.seqs.back();
  const PageId page = batch.pages[at(seq.first_page + slot / kPageTokens)];
  batch.token.push_back(token);
  batch.position.push_back(position);
  batch.seq.push_back(static_cast<std::int32_t>(batch.seqs.size()) - 1);
  batch.kv_slot.push_back(page * kPageTokens + slot % kPageTokens);
  batch.mask.push_back(mask);
  ++seq.rows;
  ++batch.rows;
}

// The row of the batch that was committed to a slot of the sequence.
std::int32_t row_at(const BatchSeq& seq, const WalkSeq& found, std::int32_t slot) {
  const std::int32_t n = slot - seq.base;
  return seq.first_row + (n < seq.chain ? n : seq.chain + found.path[at(n - seq.chain)]);
}

}  // namespace

ModelDrafter::ModelDrafter(Ops& ops, std::unique_ptr<DraftModel> model, const TreeShape& shape,
                           int num_pages, TreeBudget budget)
    : ops_(ops),
      model_(std::move(model)),
      shape_(shape),
      vocab_(static_cast<Token>(model_->vocab())),
      shift_(model_->feature_width() > 0 ? 1 : 0) {
  check_shape(shape);
  if (budget == TreeBudget::kMeasured) timing_.emplace();
  if (reads_features())
    page_feature_ = ops_.alloc(DType::kF32, {num_pages, model_->feature_width()});
}

DraftNeeds ModelDrafter::needs() const {
  return {.taps = model_->taps(), .max_nodes = shape_.nodes, .scratch_slots = scratch_slots()};
}

void ModelDrafter::open(SeqSlot slot, std::span<const Token>) {
  if (seq_of_.size() <= at(slot)) {
    seq_of_.resize(at(slot) + 1, -1);
    root_of_.resize(at(slot) + 1, -1);
  }
  root_of_[at(slot)] = -1;
}

void ModelDrafter::close(SeqSlot) {}

// The rows that the walk committed and, where a tree may grow, the root behind them, as chains.
void ModelDrafter::layout_committed(const CommittedRows& rows) {
  committed_.clear();
  rows_.clear();
  from_pages_.clear();
  from_target_.clear();
  to_pages_.clear();
  std::fill(seq_of_.begin(), seq_of_.end(), -1);
  for (std::size_t i = 0; i < rows.walk.seqs.size(); ++i) layout_sequence(rows, i);
}

void ModelDrafter::layout_sequence(const CommittedRows& rows, std::size_t i) {
  const BatchSeq& seq = rows.batch.seqs[i];
  const WalkSeq& found = rows.walk.seqs[i];
  const std::int32_t count = seq.chain + static_cast<std::int32_t>(found.path.size());
  const std::int32_t length = seq.base + count;
  const std::vector<PageId>& pages = rows.table.pages[at(seq.slot)];
  const bool has_root = !found.emitted.empty() && static_cast<std::int32_t>(pages.size()) >=
                                                      pages_of(length + scratch_slots());
  // The root of the last step is stored already, and is the first row of this one.
  const bool has_first = root_of_[at(seq.slot)] == seq.base;
  root_of_[at(seq.slot)] = has_root ? length : -1;
  const std::int32_t first_slot = std::max(seq.base + (has_first ? 1 : 0), shift_);
  const std::int32_t num_pages = pages_of(has_root ? length + scratch_slots() : length);
  if (reads_features()) list_features(rows, i, first_slot);
  if (first_slot == length && !has_root) return;

  committed_.seqs.push_back({.slot = seq.slot,
                             .first_row = committed_.rows,
                             .rows = 0,
                             .base = first_slot,
                             .chain = length + (has_root ? 1 : 0) - first_slot,
                             .first_page = static_cast<std::int32_t>(committed_.pages.size()),
                             .num_pages = num_pages,
                             .is_chain = true,
                             .first_slot = shift_});
  committed_.pages.insert(committed_.pages.end(), pages.begin(), pages.begin() + num_pages);
  for (std::int32_t slot = first_slot; slot < length; ++slot) {
    const std::int32_t row = row_at(seq, found, slot);
    add_row(committed_, readable(rows.batch.token[at(row)]), slot - shift_, slot, 0);
  }
  if (!has_root) return;
  add_row(committed_, readable(found.emitted.back().token), length - shift_, length, 0);
  seq_of_[at(seq.slot)] = static_cast<std::int32_t>(committed_.seqs.size()) - 1;
}

// Where the features come from that the sequence's rows read, and where those of its committed
// tokens are kept. Rows begin at first_slot and are about to be added to committed_.
void ModelDrafter::list_features(const CommittedRows& rows, std::size_t i,
                                 std::int32_t first_slot) {
  const BatchSeq& seq = rows.batch.seqs[i];
  const WalkSeq& found = rows.walk.seqs[i];
  const std::int32_t length = seq.base + seq.chain + static_cast<std::int32_t>(found.path.size());
  const std::vector<PageId>& pages = rows.table.pages[at(seq.slot)];
  const auto first_feature = static_cast<std::int32_t>(rows_.size());
  for (std::int32_t slot = seq.base; slot < length; ++slot) {
    rows_.push_back(row_at(seq, found, slot));
    if (slot % kPageTokens == kPageTokens - 1 || slot == length - 1)
      to_pages_.add(first_feature + slot - seq.base, pages[at(slot / kPageTokens)]);
  }
  const std::int32_t end = root_of_[at(seq.slot)] < 0 ? length : length + 1;
  for (std::int32_t slot = first_slot; slot < end; ++slot) {
    const std::int32_t row = committed_.rows + slot - first_slot;
    if (slot > seq.base)
      from_target_.add(first_feature + slot - 1 - seq.base, row);
    else
      from_pages_.add(pages[at((slot - 1) / kPageTokens)], row);
  }
}

// [committed_.rows, feature width]
Tensor ModelDrafter::committed_features(const Features& target) {
  if (!reads_features()) return {};
  const Tensor found = model_->features(target, rows_);
  const Tensor out =
      ops_.temp(DType::kF32, {committed_.rows, std::int64_t{model_->feature_width()}});
  ops_.copy_rows(page_feature_, from_pages_.from, out, from_pages_.to);
  ops_.copy_rows(found, from_target_.from, out, from_target_.to);
  ops_.copy_rows(found, to_pages_.from, page_feature_, to_pages_.to);
  return out;
}

void ModelDrafter::observe(const CommittedRows& rows) {
  if (timing_) timing_->observe(rows);
  layout_committed(rows);
  const Tensor features = committed_features(rows.features);
  if (committed_.rows > 0) found_ = model_->forward(committed_, features);
}

void ModelDrafter::start_growing(std::span<const SeqSlot> slots, std::span<const int> budget) {
  num_growing_ = 0;
  rows_.clear();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::int32_t seq = seq_of_[at(slots[i])];
    if (seq < 0 || budget[i] < 2) continue;
    if (growing_.size() == num_growing_) growing_.emplace_back();
    Growing& growing = growing_[num_growing_++];
    const BatchSeq& facts = committed_.seqs[at(seq)];
    growing.slot = slots[i];
    growing.seq = seq;
    growing.length = facts.base + facts.rows - 1;
    growing.stored = 0;
    growing.is_following = true;
    growing.growth.start(shape_, budget[i], timing_ ? timing_->worth().least_score() : 0.0F);
    growing.mask.clear();
    growing.row.clear();
    growing.root_row = facts.first_row + facts.rows - 1;
    rows_.push_back(growing.root_row);
  }
}

// The children of rows, topk each. Of chains, too, it must be known how probable they are where
// that decides on their length; of one token alone top_tokens does not say it.
void ModelDrafter::find_candidates(Tensor hidden) {
  const std::size_t width = at(timing_ ? std::max(shape_.topk, 2) : shape_.topk),
                    kept = at(shape_.topk), rows = at(hidden.dim(0));
  ops_.top_tokens(model_->logits(hidden), static_cast<int>(width), top_);
  for (std::size_t row = 0; row < rows && width > kept; ++row) {
    top_.token[row] = top_.token[row * width];
    top_.probability[row] = top_.probability[row * width];
  }
  top_.token.resize(rows * kept);
  top_.probability.resize(rows * kept);
}

// hidden: the rows that were followed, of one sequence after the other.
void ModelDrafter::add_candidates(Tensor hidden) {
  find_candidates(hidden);
  for (Token& token : top_.token)
    if (token >= 0) token = model_->target_token(token);
  std::size_t first = 0;
  for (std::size_t i = 0; i < num_growing_; ++i) {
    Growing& growing = growing_[i];
    if (!growing.is_following) continue;
    TreeGrowth& growth = growing.growth;
    const std::size_t rows = growth.levels() == 0 ? 1 : growth.followed().size();
    const std::size_t count = rows * at(shape_.topk);
    growth.add_level(std::span(top_.token).subspan(first, count),
                     std::span(top_.probability).subspan(first, count));
    first += count;
  }
}

void ModelDrafter::add_level_rows(Growing& growing) {
  const BatchSeq& facts = committed_.seqs[at(growing.seq)];
  const TreeGrowth& growth = growing.growth;
  level_.seqs.push_back({.slot = growing.slot,
                         .first_row = level_.rows,
                         .rows = 0,
                         .base = growing.length + 1,
                         .chain = 0,
                         .first_page = static_cast<std::int32_t>(level_.pages.size()),
                         .num_pages = facts.num_pages,
                         .is_chain = false,
                         .first_slot = shift_});
  const auto pages = committed_.pages.begin() + facts.first_page;
  level_.pages.insert(level_.pages.end(), pages, pages + facts.num_pages);
  for (const int candidate : growth.followed()) {
    const int parent = growth.parent(candidate);
    const int node = growing.stored++;
    const std::uint64_t ancestors = parent < 0 ? 0 : growing.mask[at(parent)];
    rows_.push_back(parent < 0 ? growing.root_row : growing.row[at(parent)]);
    if (growing.mask.size() <= at(candidate)) {
      growing.mask.resize(at(candidate) + 1);
      growing.row.resize(at(candidate) + 1);
    }
    growing.mask[at(candidate)] = ancestors | (std::uint64_t{1} << node);
    growing.row[at(candidate)] = level_.rows;
    add_row(level_, readable(growth.token(candidate)), growing.length + growth.levels() - shift_,
            growing.length + 1 + node, growing.mask[at(candidate)]);
  }
}

bool ModelDrafter::is_level_worth() const {
  if (!timing_) return true;
  double promised = 0;
  for (std::size_t i = 0; i < num_growing_; ++i)
    for (const int candidate : growing_[i].growth.followed())
      promised += static_cast<double>(growing_[i].growth.score(candidate));
  return timing_->worth().is_level_worth(promised);
}

// The rows of the next level; false when there are none.
bool ModelDrafter::layout_level() {
  level_.clear();
  rows_.clear();
  if (!is_level_worth()) return false;
  for (std::size_t i = 0; i < num_growing_; ++i) {
    Growing& growing = growing_[i];
    const TreeGrowth& growth = growing.growth;
    growing.is_following = growing.is_following && growth.levels() < growth.most_levels() &&
                           !growth.followed().empty();
    if (growing.is_following) add_level_rows(growing);
  }
  return level_.rows > 0;
}

// What the rows of the level read: the features of the rows above them.
Tensor ModelDrafter::level_features(const DraftRows& above) {
  if (!reads_features()) return {};
  const Tensor out = ops_.temp(DType::kF32, {level_.rows, std::int64_t{model_->feature_width()}});
  ops_.gather_rows(above.feature, rows_, out);
  return out;
}

void ModelDrafter::plant_tree(Growing& growing, DraftTrees& trees) {
  growing.node.clear();
  double promised = 0;
  for (const int candidate : growing.growth.chosen()) {
    const int parent = growing.growth.parent(candidate);
    // Equal scores may leave a parent out; its children then have no place.
    const int node = parent < 0                         ? 0
                     : at(parent) < growing.node.size() ? growing.node[at(parent)]
                                                        : -1;
    if (node < 0) continue;
    growing.node.resize(at(candidate) + 1, -1);
    growing.node[at(candidate)] = trees.grow(growing.slot, node, growing.growth.token(candidate));
    promised += static_cast<double>(growing.growth.score(candidate));
  }
  if (timing_) timing_->plant(growing.slot, promised);
}

void ModelDrafter::propose(std::span<const SeqSlot> slots, std::span<const int> budget,
                           DraftTrees& trees) {
  start_growing(slots, budget);
  if (num_growing_ > 0) grow_levels();
  for (std::size_t i = 0; i < num_growing_; ++i) plant_tree(growing_[i], trees);
  if (timing_) timing_->end_growth();
}

void ModelDrafter::grow_levels() {
  const Tensor roots =
      ops_.temp(DType::kF32, {static_cast<std::int64_t>(rows_.size()), found_.hidden.dim(1)});
  ops_.gather_rows(found_.hidden, rows_, roots);
  add_candidates(roots);
  for (DraftRows above = found_; layout_level();) {
    if (timing_) timing_->begin_level();
    above = model_->forward(level_, level_features(above));
    add_candidates(above.hidden);
    if (timing_) timing_->end_level();
  }
}

}  // namespace foretoken
