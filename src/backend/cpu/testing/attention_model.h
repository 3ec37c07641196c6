#pragma once
// For tests: attention over KV of bf16 of one query as docs/develop/numerics.md spells it out, one
// number after the other. Expects denormals to be flushed.

#include <cstdint>

namespace foretoken {

struct ModelQuery {
  bool pair_order;
  int head_dim;
  int value_dim;
  float scale;
  const float* q;
  // Keys and values of positions 0 .. position. Positions below `low` are not read.
  const std::uint16_t* const* k;
  const std::uint16_t* const* v;
  int low, position;
  float cap = 0;                // of scores; 0: none
  const float* sink = nullptr;  // of the head; null: none
};

void model_attention(const ModelQuery& query, float* out);

}  // namespace foretoken
