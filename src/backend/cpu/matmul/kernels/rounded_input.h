#pragma once
// The input of products that round it: rows of floats become signed codes, scales and sums, in the
// forms that PackXCall (kernels.h) describes.
// For translation units of kernels only (v16.h).

#include "backend/cpu/simd/int_vectors.h"
#include "backend/cpu/simd/row_reach.h"
#include "backend/cpu/table/kernels.h"

namespace foretoken {
namespace {

// Groups and rows lie one after the other, and the machine's own prefetching ends where a page
// does.
constexpr int kReachAhead = 1024;

// How the values of a group become codes.
struct InputRounding {
  bool is_finite, is_void;
  float farthest;

  FT_INLINE float inverse() const { return is_void ? 0.0F : 127.0F / farthest; }
  FT_INLINE float scale() const {
    if (!is_finite) return __builtin_nanf("");
    return is_void ? 0.0F : farthest / 127.0F;
  }
};
FT_INLINE InputRounding rounding_of(const float* x, std::int64_t count) {
  const auto [farthest, is_finite] = reach_of(x, count, kReachAhead);
  return {is_finite, !is_finite || farthest < kLeastReach, farthest};
}

// The codes of `length` values, `count` of which exist: sixteen from i on to codes_at(i). Returns
// their sum.
template <class CodesAt>
FT_INLINE std::int32_t store_codes(const float* x, std::int64_t count, std::int64_t length,
                                   const InputRounding& rounding, CodesAt codes_at) {
  const V16 inverse = set1(rounding.inverse());
  V16 total = zero();  // of integers below 2^24, hence exact
  for (std::int64_t i = 0; i < length; i += 16) {
    const V16 code =
        rounding.is_void ? zero() : round_even(mul(load_upto(x + i, count - i), inverse));
    store_i8(codes_at(i), code);
    total = add(total, code);
  }
  return static_cast<std::int32_t>(reduce_sum(total));
}

// The codes of one group; `count` of its values exist. Returns their scale; start: what sums of
// products with the group begin with.
template <class CodesAt>
FT_INLINE float round_group(const float* x, std::int64_t count, std::int64_t group, int zero_code,
                            CodesAt codes_at, std::int32_t* start) {
  const InputRounding rounding = rounding_of(x, count);
  *start = -zero_code * store_codes(x, count, group, rounding, codes_at);
  return rounding.scale();
}

// Beside the minima of a super stand x_scale * (sum of a group): as numbers of 16 bits and a scale.
inline void put_minima_input(const float (&of_group)[16], int groups, float* u_scale,
                             std::int16_t* u) {
  constexpr float kMost = 32767.0F;
  const auto [farthest, is_finite] = reach_of(of_group, groups, 0);
  const bool is_void = !is_finite || farthest < kLeastReach;
  std::int32_t numbers[16];
  const V16 inverse = set1(is_void ? 0.0F : kMost / farthest);
  int_store(numbers, to_int(is_void ? zero() : round_even(mul(load(of_group), inverse))));
  for (int g = 0; g < groups; ++g) u[g] = static_cast<std::int16_t>(numbers[g]);
  *u_scale = !is_finite ? __builtin_nanf("") : is_void ? 0.0F : farthest / kMost;
}

inline void pack_x_supers(const PackXCall& call) {
  const std::int64_t units = call.k / kBlockK;
  for (int row = 0; row < call.rows; ++row) {
    const float* from = call.x + row * call.k;
    auto* codes = static_cast<std::int8_t*>(call.packed) + row * call.x_stride;
    auto* scales = reinterpret_cast<float*>(codes + call.k);
    auto* starts = reinterpret_cast<std::int32_t*>(scales + units);
    auto* u_scales = scales + units;
    auto* u = reinterpret_cast<std::int16_t*>(u_scales + call.k / kSuperK);
    float of_group[16] = {};
    int group = 0;
    for (std::int64_t k = 0; k < call.k;) {
      const InputRounding rounding = rounding_of(from + k, kBlockK);
      const float scale = rounding.scale();
      *scales++ = scale;
      for (const std::int64_t end = k + kBlockK; k < end; k += call.group) {
        const std::int32_t sum = store_codes(from + k, call.group, call.group, rounding,
                                             [=](std::int64_t i) { return codes + k + i; });
        if (call.has_minima)
          of_group[group++] = scale * static_cast<float>(sum);
        else
          *starts++ = -call.zero * sum;
      }
      if (!call.has_minima || k % kSuperK != 0) continue;
      put_minima_input(of_group, group, u_scales++, u);
      u += group;
      group = 0;
    }
  }
}

inline void pack_x_codes(const PackXCall& call) {
  if (call.has_super) return pack_x_supers(call);
  const std::int64_t groups = call.packed_k / call.group;
  for (int row = 0; row < call.rows; ++row) {
    const float* from = call.x + row * call.k;
    auto* codes = static_cast<std::int8_t*>(call.packed) + row * call.x_stride;
    auto* scales = reinterpret_cast<float*>(codes + call.packed_k);
    auto* starts = reinterpret_cast<std::int32_t*>(scales + groups);
    for (std::int64_t g = 0; g < groups; ++g) {
      const std::int64_t first = g * call.group, left = call.k - first;
      scales[g] = round_group(
          from + first, left < call.group ? left : call.group, call.group, call.zero,
          [=](std::int64_t i) { return codes + first + i; }, starts + g);
    }
  }
}

}  // namespace
}  // namespace foretoken
