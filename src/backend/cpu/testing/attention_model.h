#pragma once
// For tests: attention over KV of bf16 of one query as docs/develop/numerics.md spells it out, one
// number after the other. Expects denormals to be flushed.

#include <cstdint>

namespace foretoken {

struct ModelQuery {
  bool pair_order;
  int head_dim;
  float scale;
  const float* q;
  // Of positions 0 .. position, [head_dim] each; the first low are not looked at.
  const std::uint16_t* const* k;
  const std::uint16_t* const* v;
  int low, position;
};

void model_attention(const ModelQuery& query, float* out);

}  // namespace foretoken
