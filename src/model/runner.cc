#include "model/runner.h"

#include <utility>
#include <vector>

#include "batch/batch_tail.h"

namespace foretoken {

Runner::Runner(Ops& ops, const Decoder& decoder, int num_pages, StateRoom room)
    : ops_(ops), decoder_(decoder), target_vocab_(decoder.config().vocab) {
  KvShape shape = decoder_.kv_shape();
  shape.slots = room.slots;
  shape.tree_nodes = room.tree_nodes;
  if (keeps_states()) shape.snapshots = snapshots_ = room.snapshots;
  kv_.emplace(ops_, shape, num_pages);
}

Runner::Runner(Ops& ops, std::unique_ptr<const Decoder> decoder, std::int64_t target_vocab)
    : ops_(ops), owned_(std::move(decoder)), decoder_(*owned_), target_vocab_(target_vocab) {}

void Runner::allocate_kv(int num_pages) { kv_.emplace(ops_, decoder_.kv_shape(), num_pages); }

Features Runner::forward(const Batch& batch, const FeatureTaps& taps) {
  return decoder_.forward(ops_, batch, *kv_, taps);
}

DraftRows Runner::forward(Batch& batch, const DraftInput& input) {
  const FeatureTaps taps{.last_hidden = !input.reads_logit_rows, .layer_inputs = {}};
  Features features = forward(batch, taps);
  return {.hidden = features.last_hidden, .feature = {}, .rows = std::move(features.last_rows)};
}

Tensor Runner::logits(const Features& features, const Batch& batch) {
  const auto wanted = static_cast<std::int64_t>(batch.logit_rows.size());
  if (wanted == 0) return ops_.temp(DType::kF32, {0, vocab()});
  if (wanted == features.last_hidden.dim(0)) return logits(features.last_hidden);
  const Tensor rows = ops_.temp(DType::kF32, {wanted, decoder_.config().hidden});
  std::vector<std::int32_t> places;
  for (const std::int32_t row : batch.logit_rows)
    places.push_back(place_of(row, features.last_rows));
  ops_.gather_rows(features.last_hidden, places, rows);
  return logits(rows);
}

Tensor Runner::logits(Tensor hidden) { return decoder_.logits(ops_, hidden); }

}  // namespace foretoken
