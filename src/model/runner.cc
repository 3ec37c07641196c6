#include "model/runner.h"

#include <utility>

namespace foretoken {

Runner::Runner(Ops& ops, const Decoder& decoder, int num_pages)
    : ops_(ops), decoder_(decoder), target_vocab_(decoder.config().vocab) {
  allocate_kv(num_pages);
}

Runner::Runner(Ops& ops, std::unique_ptr<const Decoder> decoder, std::int64_t target_vocab)
    : ops_(ops), owned_(std::move(decoder)), decoder_(*owned_), target_vocab_(target_vocab) {}

void Runner::allocate_kv(int num_pages) { kv_.emplace(ops_, decoder_.kv_shape(), num_pages); }

Features Runner::forward(const Batch& batch, const FeatureTaps& taps) {
  return decoder_.forward(ops_, batch, *kv_, taps);
}

DraftRows Runner::forward(Batch& batch, const DraftInput&) {
  return {.hidden = forward(batch, FeatureTaps{}).last_hidden, .feature = {}};
}

Tensor Runner::logits(const Features& features, const Batch& batch) {
  const auto wanted = static_cast<std::int64_t>(batch.logit_rows.size());
  if (wanted == 0) return ops_.temp(DType::kF32, {0, vocab()});
  if (wanted == batch.rows) return logits(features.last_hidden);
  const Tensor rows = ops_.temp(DType::kF32, {wanted, decoder_.config().hidden});
  ops_.gather_rows(features.last_hidden, batch.logit_rows, rows);
  return logits(rows);
}

Tensor Runner::logits(Tensor hidden) { return decoder_.logits(ops_, hidden); }

}  // namespace foretoken
