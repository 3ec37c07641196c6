#include "model/runner.h"

#include <vector>

#include "batch/batch_tail.h"

namespace foretoken {
namespace {

KvShape with_states(KvShape shape, const StateRoom& room, bool keeps_states) {
  shape.slots = room.slots;
  shape.tree_nodes = room.tree_nodes;
  if (keeps_states) shape.snapshots = room.snapshots;
  return shape;
}

}  // namespace

Runner::Runner(Ops& ops, const Decoder& decoder, int num_pages, StateRoom room)
    : ops_(ops),
      decoder_(decoder),
      snapshots_(keeps_states() ? room.snapshots : 0),
      kv_(ops_, with_states(decoder_.kv_shape(), room, keeps_states()), num_pages) {}

Features Runner::forward(const Batch& batch, const FeatureTaps& taps) {
  return decoder_.forward(ops_, batch, kv_, taps);
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
