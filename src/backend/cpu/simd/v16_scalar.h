#pragma once
// V16 as an array, one lane after the other: the definition of what the other variants compute; see
// v16.h for what the functions mean. The fused multiply-add is the processor's.

#include <cstdint>

#include "backend/cpu/simd/one_lane.h"

namespace foretoken {
namespace {

struct V16 {
  float v[16];
};
struct M16 {
  bool m[16];
};

template <class F>
FT_INLINE V16 each_lane(F f) {
  V16 r;
  for (int i = 0; i < 16; ++i) r.v[i] = f(i);
  return r;
}
template <class F>
FT_INLINE M16 test_lanes(F f) {
  M16 r;
  for (int i = 0; i < 16; ++i) r.m[i] = f(i);
  return r;
}
FT_INLINE std::uint32_t bits_of(float a) { return __builtin_bit_cast(std::uint32_t, a); }
FT_INLINE float float_of(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

FT_INLINE V16 load(const float* p) {
  return each_lane([=](int i) { return p[i]; });
}
FT_INLINE void store(float* p, V16 a) {
  for (int i = 0; i < 16; ++i) p[i] = a.v[i];
}
FT_INLINE V16 load_n(const float* p, int n) {
  return each_lane([=](int i) { return i < n ? p[i] : 0.0F; });
}
FT_INLINE void store_n(float* p, V16 a, int n) {
  for (int i = 0; i < n; ++i) p[i] = a.v[i];
}
FT_INLINE V16 set1(float a) {
  return each_lane([=](int) { return a; });
}
FT_INLINE V16 zero() { return set1(0.0F); }

FT_INLINE V16 fma(V16 a, V16 b, V16 c) {
  return each_lane([&](int i) { return __builtin_fmaf(a.v[i], b.v[i], c.v[i]); });
}
FT_INLINE V16 add(V16 a, V16 b) {
  return each_lane([&](int i) { return a.v[i] + b.v[i]; });
}
FT_INLINE V16 sub(V16 a, V16 b) {
  return each_lane([&](int i) { return a.v[i] - b.v[i]; });
}
FT_INLINE V16 mul(V16 a, V16 b) {
  return each_lane([&](int i) { return a.v[i] * b.v[i]; });
}
FT_INLINE V16 div(V16 a, V16 b) {
  return each_lane([&](int i) { return a.v[i] / b.v[i]; });
}
FT_INLINE V16 sqrt(V16 a) {
  return each_lane([&](int i) { return sqrt1(a.v[i]); });
}
FT_INLINE V16 max(V16 a, V16 b) {
  return each_lane([&](int i) { return max1(a.v[i], b.v[i]); });
}
FT_INLINE V16 min(V16 a, V16 b) {
  return each_lane([&](int i) { return min1(a.v[i], b.v[i]); });
}
FT_INLINE V16 round_even(V16 a) {
  return each_lane([&](int i) { return round1(a.v[i]); });
}

FT_INLINE M16 less(V16 a, V16 b) {
  return test_lanes([&](int i) { return a.v[i] < b.v[i]; });
}
FT_INLINE M16 less_equal(V16 a, V16 b) {
  return test_lanes([&](int i) { return a.v[i] <= b.v[i]; });
}
FT_INLINE M16 is_nan(V16 a) {
  return test_lanes([&](int i) { return a.v[i] != a.v[i]; });
}
FT_INLINE M16 lanes(std::uint16_t bits) {
  return test_lanes([=](int i) { return ((bits >> i) & 1) != 0; });
}
FT_INLINE V16 select(M16 m, V16 a, V16 b) {
  return each_lane([&](int i) { return m.m[i] ? a.v[i] : b.v[i]; });
}

FT_INLINE V16 add_exponent(V16 a, V16 t) {
  return each_lane([&](int i) { return float_of(bits_of(a.v[i]) + (bits_of(t.v[i]) << 23)); });
}

FT_INLINE V16 load_bf16(const std::uint16_t* p) {
  return each_lane([=](int i) { return float_of(std::uint32_t{p[i]} << 16); });
}
FT_INLINE std::uint32_t bf16_bits(float a) {
  const std::uint32_t bits = bits_of(a), magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return (bits >> 16) | 0x40U;
  if (magnitude < 0x00800000U) return (bits >> 16) & 0x8000U;
  return (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
}
FT_INLINE void store_bf16(std::uint16_t* p, V16 a) {
  for (int i = 0; i < 16; ++i) p[i] = static_cast<std::uint16_t>(bf16_bits(a.v[i]));
}
FT_INLINE V16 round_bf16(V16 a) {
  return each_lane([&](int i) { return float_of(bf16_bits(a.v[i]) << 16); });
}
FT_INLINE V16 round_plain_bf16(V16 a) { return round_bf16(a); }
FT_INLINE V16 load_f16(const std::uint16_t* p) {
  return each_lane([=](int i) { return from_f16(p[i]); });
}
FT_INLINE void store_f16(std::uint16_t* p, V16 a) {
  for (int i = 0; i < 16; ++i) p[i] = to_f16(a.v[i]);
}
FT_INLINE V16 even_bf16(const std::uint16_t* p) {
  return each_lane([=](int i) { return float_of(std::uint32_t{p[2 * i]} << 16); });
}
FT_INLINE V16 odd_bf16(const std::uint16_t* p) {
  return each_lane([=](int i) { return float_of(std::uint32_t{p[2 * i + 1]} << 16); });
}

FT_INLINE float reduce_sum(V16 a) {
  for (int half = 8; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) a.v[i] = a.v[i] + a.v[i + half];
  return a.v[0];
}
FT_INLINE float reduce_max(V16 a) {
  for (int half = 8; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) a.v[i] = max1(a.v[i], a.v[i + half]);
  return a.v[0];
}

}  // namespace
}  // namespace foretoken
