#pragma once
// What happens to queries and keys between their linear and attention: the norm of each head and
// the rotation. Views of the backend's memory.

#include "tensor/tensor.h"

namespace foretoken {

// Rotation tables, float32 [positions, pairs], attention scaling factor included. Pairing is Hugging
// Face's: element i < pairs with element i + rotary_dim / 2; pairs <= rotary_dim / 2, and those that
// have no column pass unrotated.
struct RopeTable {
  Tensor cos;
  Tensor sin;
  // <= head_dim; the rest of the head passes unrotated. 0: nothing is rotated, no tables.
  int rotary_dim = 0;

  int pairs() const { return rotary_dim == 0 ? 0 : static_cast<int>(cos.dim(1)); }
};

// Per-head RMS norm of q and k before the rotation (Qwen3); empty weights: none of q, or of k.
struct QkNorm {
  Tensor q_weight;  // float32 [head_dim]
  Tensor k_weight;
  float eps = 0.0F;
};

}  // namespace foretoken
