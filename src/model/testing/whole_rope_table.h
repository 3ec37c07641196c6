#pragma once
// The table of a model's main rope with the rows of all positions.

#include "batch/tree.h"
#include "model/decoder/rope.h"

namespace foretoken {

inline RopeTable whole_rope_table(LoadOps& ops, ModelConfig config) {
  config.layers = 1;
  config.layer_rope = {};
  RopeTables tables(ops, config);
  Batch batch;
  batch.position = {static_cast<std::int32_t>(config.context_length) + kMaxTreeNodes - 1};
  tables.reach(batch);
  return tables.of(LayerRope::kMain);
}

}  // namespace foretoken
