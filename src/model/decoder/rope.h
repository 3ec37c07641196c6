#pragma once
// Rotary tables: cos and sin of position * frequency, for every kind of scaling, computed as
// Hugging Face does (frequencies and angles in float32). Tables are chosen at start by
// the context length: a table that moved with the length of the text would break prefix reuse. The
// same bits on every machine: no libm beyond the few frequencies.

#include <cstdint>
#include <vector>

#include "backend/ops/load_ops.h"
#include "backend/rope_table.h"
#include "model/config/model_config.h"

namespace foretoken {

struct RopeFrequencies {
  std::vector<float> inverse;     // [pairs that rotate], radians per position
  float attention_factor = 1.0F;  // multiplies cos and sin
};

// For config.context_length: dynamic scales when it exceeds the trained length, longrope takes its
// long factors when it exceeds the original length.
RopeFrequencies rope_frequencies(const ModelConfig& config);

// What queries and keys of latent attention are both larger by where positions are scaled
// (mscale_all_dim); 1: by nothing.
double latent_magnitude(const ModelConfig& config);

// Table for positions 0 .. config.context_length + kMaxTreeNodes - 1 in the backend's memory (draft
// nodes may stand beyond the last position that is ever kept).
RopeTable make_rope_table(LoadOps& ops, const ModelConfig& config);

// The tables of a model's layers; those that no layer uses are empty. Layers of one rope have heads
// of one size.
struct RopeTables {
  RopeTable main, local;
  RopeTable none = {};  // rotates nothing

  const RopeTable& of(LayerRope rope) const {
    return rope == LayerRope::kMain ? main : rope == LayerRope::kLocal ? local : none;
  }
  std::size_t bytes() const {
    std::size_t bytes = 0;
    for (const RopeTable* table : {&main, &local})
      if (!table->cos.empty()) bytes += table->cos.bytes() + table->sin.bytes();
    return bytes;
  }
};
RopeTables make_rope_tables(LoadOps& ops, const ModelConfig& config);

// sine and cosine of an angle in [0, 2^20], error below 2^-50, by one fixed polynomial.
struct SinCos {
  double sin, cos;
};
SinCos sin_cos(double angle);

}  // namespace foretoken
