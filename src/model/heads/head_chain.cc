#include "model/heads/head_chain.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "model/decoder/forward_memory.h"

namespace foretoken {
namespace {

// The batch as head after head sees it, and at the end as it was.
class Deepened {
 public:
  Deepened(Batch& batch, std::vector<std::int32_t>& positions)
      : batch_(batch), positions_(positions) {
    positions_ = batch.position;
  }
  Deepened(const Deepened&) = delete;
  Deepened& operator=(const Deepened&) = delete;
  ~Deepened() {
    move_first_slots(0);
    batch_.position.swap(positions_);
  }

  // Rows are that much further on in the text than the features they read.
  void to(int head) {
    move_first_slots(head);
    for (std::size_t row = 0; row < positions_.size(); ++row)
      batch_.position[row] = std::max(positions_[row] - head, 0);
  }

 private:
  void move_first_slots(int head) {
    for (BatchSeq& seq : batch_.seqs)
      if (seq.first_slot > 0) seq.first_slot += head - head_;
    head_ = head;
  }

  Batch& batch_;
  std::vector<std::int32_t>& positions_;  // as they were
  int head_ = 0;
};

// carried [rows, carried_width] holds parts as wide as a feature, one for each head but the first.
Tensor parts_of(Tensor carried, std::int64_t width) {
  return {carried.data(), carried.dtype(), {carried.elements() / width, width}};
}

}  // namespace

HeadChain::HeadChain(StepOps& ops, std::vector<std::unique_ptr<HeadDraft>> heads,
                     bool all_read_target)
    : ops_(ops),
      heads_(std::move(heads)),
      all_read_target_(all_read_target),
      last_(static_cast<int>(heads_.size()) - 1) {
  CHECK(last_ > 0) << "a chain of " << heads_.size() << " heads";
}

void HeadChain::allocate_kv(int num_pages) {
  for (const auto& head : heads_) head->allocate_kv(num_pages);
}

KvShape HeadChain::kv_shape() const {
  KvShape shape = first().kv_shape();
  shape.layers *= static_cast<int>(heads_.size());
  return shape;
}

std::size_t HeadChain::weight_bytes() const {
  std::size_t bytes = 0;
  for (const auto& head : heads_) bytes += head->weight_bytes();
  return bytes;
}

// What all heads take, what is carried, and what each but the first reads of it.
std::size_t HeadChain::forward_bytes(std::int64_t rows) const {
  return heads_.size() * first().forward_bytes(rows) + rows_bytes(rows, carried_width()) +
         rows_bytes(rows, carried_width(), last_);
}

ForwardSize HeadChain::forward_size(std::int64_t rows) const {
  ForwardSize size = first().forward_size(rows);
  size.forwards = static_cast<int>(heads_.size());
  return size;
}

// Of every row, what the head reads at the row behind it.
void HeadChain::carry(Tensor made, int head, Tensor carried) {
  const auto rows = static_cast<std::int32_t>(made.dim(0));
  from_.clear();
  to_.clear();
  for (std::int32_t row = 0; row < rows; ++row) {
    from_.push_back(row);
    to_.push_back(part_of(row, head));
  }
  ops_.copy_rows(made, from_, parts_of(carried, feature_width()), to_);
}

// What was carried to each row for the head.
Tensor HeadChain::carried_to(int head, Tensor carried) {
  const auto rows = static_cast<std::int32_t>(carried.dim(0));
  from_.clear();
  for (std::int32_t row = 0; row < rows; ++row) from_.push_back(part_of(row, head));
  const Tensor out = ops_.temp(DType::kF32, {rows, std::int64_t{feature_width()}});
  ops_.gather_rows(parts_of(carried, feature_width()), from_, out);
  return out;
}

// The same of text, where rows follow one another: from the row before, which was just computed;
// before: what was carried to the first row of each sequence.
Tensor HeadChain::following(const Batch& batch, int head, Tensor made, Tensor before) {
  const std::int64_t width = feature_width();
  const Tensor out = ops_.temp(DType::kF32, {batch.rows, width});
  from_.clear();
  to_.clear();
  for (const BatchSeq& seq : batch.seqs)
    for (std::int32_t row = seq.first_row + 1; row < seq.first_row + seq.rows; ++row) {
      from_.push_back(part_of(row - 1, head));
      to_.push_back(row);
    }
  ops_.copy_rows(parts_of(made, width), from_, out, to_);
  from_.clear();
  to_.clear();
  for (std::size_t i = 0; i < batch.seqs.size(); ++i) {
    if (batch.seqs[i].rows == 0) continue;
    from_.push_back(part_of(static_cast<std::int32_t>(i), head));
    to_.push_back(batch.seqs[i].first_row);
  }
  ops_.copy_rows(parts_of(before, width), from_, out, to_);
  return out;
}

DraftRows HeadChain::forward(Batch& batch, const DraftInput& input) {
  const bool is_text = input.depth == 0;
  const int first_head = std::min(input.depth, last_);
  const Tensor carried = ops_.temp(DType::kF32, {batch.rows, std::int64_t{carried_width()}});
  Tensor read = is_text ? input.features : carried_to(first_head, input.features);
  DraftRows made, found;
  Deepened seen(batch, positions_);
  for (int head = first_head; head <= last_; ++head) {
    // A head may write over what it reads.
    if (all_read_target_ && head < last_) carry(read, head + 1, carried);
    seen.to(head);
    made = heads_[at(head)]->forward(batch, {.features = read});
    if (head == first_head) found.hidden = made.hidden;
    if (!all_read_target_ && head < last_) carry(made.feature, head + 1, carried);
    if (head == last_ && input.depth >= last_) carry(made.feature, last_, carried);
    if (head == last_) break;
    read = is_text ? following(batch, head + 1, carried, input.carried)
                   : carried_to(head + 1, input.features);
  }
  found.feature = carried;
  return found;
}

std::unique_ptr<DraftModel> make_heads(Ops& ops, std::span<const HeadConfig> heads,
                                       const WeightSource& weights, const Decoder& target,
                                       std::optional<DraftedTokens> drafted,
                                       const Quantization& quantization) {
  // The first gives the logits of all.
  auto first = std::make_unique<HeadDraft>(ops, heads.front(), weights, target, std::move(drafted),
                                           quantization);
  if (heads.size() == 1) return first;
  std::vector<std::unique_ptr<HeadDraft>> chain;
  chain.push_back(std::move(first));
  for (const HeadConfig& head : heads.subspan(1))
    chain.push_back(
        std::make_unique<HeadDraft>(ops, head, weights, target, std::nullopt, quantization));
  return std::make_unique<HeadChain>(ops, std::move(chain), heads.front().all_read_target);
}

}  // namespace foretoken
