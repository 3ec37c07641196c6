#pragma once
// Rotary tables whose rows are there before any forward asks for them.

#include "batch/tree.h"
#include "model/decoder/rope.h"

namespace foretoken {

// The tables of a model's layers, with the rows up to a position at least.
inline RopeTables reached_rope_tables(LoadOps& ops, const ModelConfig& config,
                                      std::int64_t position) {
  RopeTables tables(ops, config);
  Batch batch;
  batch.position = {static_cast<std::int32_t>(position)};
  tables.reach(batch);
  return tables;
}

// The table of the main rope with the rows of all positions.
inline RopeTable whole_rope_table(LoadOps& ops, ModelConfig config) {
  config.layers = 1;
  config.layer_rope = {};
  return reached_rope_tables(ops, config, config.context_length + kMaxTreeNodes - 1)
      .of(LayerRope::kMain);
}

}  // namespace foretoken
