#pragma once
// Rotary tables: cos and sin of position * frequency, for every kind of scaling, computed as
// Hugging Face does (frequencies and angles in float32). Tables are chosen at start by
// the context length: a table that moved with the length of the text would break prefix reuse. The
// same bits on every machine: no libm beyond the few frequencies.

#include <cstdint>
#include <vector>

#include "backend/ops/load_ops.h"
#include "backend/rope_table.h"
#include "batch/batch.h"
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

// The tables of a model's layers in the backend's memory, for positions 0 .. config.context_length +
// kMaxTreeNodes - 1 (draft nodes may stand beyond the last position that is ever kept). Most texts
// are shorter than contexts: rows are written when a position is first needed, and memory that is
// not written is not resident. Layers of one rope have heads of one size. One thread at a time.
class RopeTables {
 public:
  RopeTables() = default;
  // The tables that some layer of the model uses. `ops` outlives them.
  RopeTables(LoadOps& ops, const ModelConfig& config);

  // Writes the rows that the batch reads and no batch before has read. Before its forward.
  void reach(const Batch& batch);

  // Empty where no layer has this rope; kNone rotates nothing.
  const RopeTable& of(LayerRope rope) const;
  std::size_t bytes() const;

 private:
  struct Growing {
    RopeTable table;
    RopeFrequencies frequencies;
  };
  void write(const Growing& rope, std::int64_t first, std::int64_t rows) const;

  LoadOps* ops_ = nullptr;
  Growing main_, local_;
  RopeTable none_;
  std::int64_t positions_ = 0, written_ = 0;
};

// sine and cosine of an angle in [0, 2^20], error below 2^-50, by one fixed polynomial.
struct SinCos {
  double sin, cos;
};
SinCos sin_cos(double angle);

}  // namespace foretoken
