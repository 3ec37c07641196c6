#pragma once
// Reading float32 rows that are no multiple of sixteen long, and how far their values reach, which
// decides the scale of their codes. For translation units of kernels only (v16.h).

#include <cstdint>

#include "backend/cpu/simd/v16.h"

namespace foretoken {
namespace {

constexpr float kLeastReach = 0x1p-100F;  // below it codes are 0; kLeastInput of backend/quantize.h

// As many of sixteen values as are left; the others are 0.
FT_INLINE V16 load_upto(const float* p, std::int64_t left) {
  return left >= 16 ? load(p) : left > 0 ? load_n(p, static_cast<int>(left)) : zero();
}

struct Reach {
  float farthest;  // the greatest magnitude, where all are finite
  bool is_finite;
};
// ahead: values that are asked for meanwhile begin so many later; 0: none are.
FT_INLINE Reach reach_of(const float* x, std::int64_t count, int ahead = 0) {
  V16 most = zero(), strange = zero();  // strange: NaN where a value is not finite
  for (std::int64_t i = 0; i < count; i += 16) {
    if (ahead > 0) prefetch_l2(x + i + ahead);
    const V16 a = load_upto(x + i, count - i);
    most = max(max(a, sub(zero(), a)), most);
    strange = fma(a, zero(), strange);
  }
  return {reduce_max(most), reduce_sum(strange) == 0.0F};
}

}  // namespace
}  // namespace foretoken
