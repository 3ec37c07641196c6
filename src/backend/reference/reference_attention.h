#pragma once
// Attention of the reference backend, one head of one row at a time, in float64: keys and values on
// their way to the KV store, and a query over what is stored. Pure functions.

#include <cmath>
#include <cstdint>
#include <vector>

#include "backend/attention_shape.h"
#include "backend/kv_shape.h"

namespace foretoken {

inline double soft_capped(double x, double cap) { return cap * std::tanh(x / cap); }

// v: null where values are parts of keys.
void store_reference_head(const KvLayer& kv, std::int32_t slot, std::int64_t h, const float* k,
                          const float* v);

// head: of the query; slots: what it sees; out [shape.out_dim()].
void attend_reference_head(const float* q, const KvLayer& kv, const AttentionShape& shape, int head,
                           const std::vector<std::int32_t>& slots, float* out);

}  // namespace foretoken
