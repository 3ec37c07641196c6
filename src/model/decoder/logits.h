#pragma once
// What models do to logits behind the output matrix. Pure functions.

#include "backend/ops/step_ops.h"
#include "model/config/blocks.h"

namespace foretoken {

// Scales and caps logits [rows, vocab] in place, as the model has it.
inline void finish_logits(StepOps& ops, const Blocks& blocks, Tensor logits) {
  if (blocks.logit_scale != 1.0F) ops.scale(logits, blocks.logit_scale);
  if (blocks.logit_cap > 0.0F) ops.soft_cap(logits, blocks.logit_cap);
}

}  // namespace foretoken
