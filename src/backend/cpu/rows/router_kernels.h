#pragma once
// Scores of a row of a router's logits. For translation units of kernels only (v16.h).

#include "backend/cpu/rows/row_kernels.h"

namespace foretoken {
namespace {

// Lanes beyond the row take no part in the maximum and the sum.
inline V16 some_logits(const float* logits, std::int64_t i, std::int64_t width) {
  const int n = lanes_from(i, width);
  if (n == 16) return load(logits + i);
  float some[16];
  for (int lane = 0; lane < 16; ++lane)
    some[lane] = lane < n ? logits[i + lane] : -__builtin_inff();
  return load(some);
}

inline void softmax_row(const float* logits, std::int64_t width, float* out) {
  V16 top = set1(-__builtin_inff());
  for (std::int64_t i = 0; i < width; i += 16) top = max(some_logits(logits, i, width), top);
  const V16 most = set1(reduce_max(top));
  V16 sum = zero();
  for (std::int64_t i = 0; i < width; i += 16) {
    const V16 e = exp(sub(some_logits(logits, i, width), most));
    store_some(out + i, e, lanes_from(i, width));
    sum = add(sum, e);
  }
  const V16 all = set1(reduce_sum(sum));
  for (std::int64_t i = 0; i < width; i += 16) {
    const int n = lanes_from(i, width);
    store_some(out + i, div(load_some(out + i, n), all), n);
  }
}

inline void logistic_row(const float* logits, std::int64_t width, float* out) {
  for (std::int64_t i = 0; i < width; i += 16) {
    const int n = lanes_from(i, width);
    store_some(out + i, weigh_by_logistic(set1(1.0F), load_some(logits + i, n)), n);
  }
}

inline void logits_row(const float* logits, std::int64_t width, float* out) {
  for (std::int64_t i = 0; i < width; ++i) out[i] = logits[i];
}

}  // namespace
}  // namespace foretoken
