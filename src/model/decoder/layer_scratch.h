#pragma once
// LayerScratch: what the layers of one forward share: the tensors that every layer writes anew
// (float32, one row per row of the batch), and how the batch attends, worked out once for each shape
// of theirs. Lives for one forward.

#include <vector>

#include "backend/ops/step_ops.h"
#include "model/config/model_config.h"

namespace foretoken {

struct LayerScratch {
  LayerScratch(StepOps& ops, const ModelConfig& config, const Batch& batch);

  const AttentionPlan& plan(const AttentionShape& shape);

  StepOps& ops;
  const Batch& batch;
  std::vector<const AttentionPlan*> plans;
  Tensor residual;  // [rows, hidden], the stream between layers without the pending `delta`
  Tensor normed;    // [rows, hidden]
  Tensor delta;     // [rows, hidden], what a block adds to the residual
  Tensor gate;      // [rows, heads * head_dim] where a layer has an output gate
  Tensor inputs;  // [rows, layers * width] where layers read them (LayerInputs), made by the model
  // [rows, width]: what a layer's first half leaves for its second one.
  Tensor queries(std::int64_t width) const { return {q_.data(), DType::kF32, {batch.rows, width}}; }

 private:
  Tensor q_;  // the widest
};

}  // namespace foretoken
