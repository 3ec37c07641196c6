#include "model/decoder/layer_scratch.h"

#include "model/decoder/forward_memory.h"

namespace foretoken {

LayerScratch::LayerScratch(StepOps& backend, const ModelConfig& config, const Batch& rows)
    : ops(backend), batch(rows) {
  auto temp = [&](std::int64_t width) { return ops.temp(DType::kF32, {batch.rows, width}); };
  residual = temp(config.hidden);
  normed = temp(config.hidden);
  delta = temp(config.hidden);
  q_ = temp(query_width(config));
  if (config.has_output_gate) gate = temp(std::int64_t{config.heads} * config.widest_head());
}

const AttentionPlan& LayerScratch::plan(const AttentionShape& shape) {
  for (const AttentionPlan* made : plans)
    if (made->shape == shape) return *made;
  plans.push_back(&ops.plan_attention(shape, batch));
  return *plans.back();
}

}  // namespace foretoken
