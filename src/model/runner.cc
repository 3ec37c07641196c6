#include "model/runner.h"

namespace foretoken {

Runner::Runner(Ops& ops, const Decoder& decoder, int num_pages)
    : ops_(ops), decoder_(decoder), kv_(ops, decoder.kv_shape(), num_pages) {}

Features Runner::forward(const Batch& batch, const FeatureTaps& taps) {
  return decoder_.forward(ops_, batch, kv_, taps);
}

Tensor Runner::logits(const Features& features, const Batch& batch) {
  const auto wanted = static_cast<std::int64_t>(batch.logit_rows.size());
  if (wanted == 0) return ops_.temp(DType::kF32, {0, vocab()});
  if (wanted == batch.rows) return decoder_.logits(ops_, features.last_hidden);
  const Tensor rows = ops_.temp(DType::kF32, {wanted, decoder_.config().hidden});
  ops_.gather_rows(features.last_hidden, batch.logit_rows, rows);
  return decoder_.logits(ops_, rows);
}

}  // namespace foretoken
