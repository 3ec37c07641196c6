#include "model/decoder/layer_scratch.h"

namespace foretoken {

LayerScratch::LayerScratch(StepOps& backend, const ModelConfig& config, const Batch& rows)
    : ops(backend), batch(rows) {
  const std::int64_t q_width = std::int64_t{config.heads} * config.head_dim;
  auto temp = [&](std::int64_t width) { return ops.temp(DType::kF32, {batch.rows, width}); };
  residual = temp(config.hidden);
  normed = temp(config.hidden);
  delta = temp(config.hidden);
  q = temp(q_width);
}

const AttentionPlan& LayerScratch::plan(const AttentionShape& shape) {
  for (const AttentionPlan* made : plans)
    if (made->shape == shape) return *made;
  plans.push_back(&ops.plan_attention(shape, batch));
  return *plans.back();
}

}  // namespace foretoken
