#pragma once
// V16 as four NEON registers of four lanes each, in order; see v16.h for what the functions mean.

#include <cstdint>

#include <arm_neon.h>

namespace foretoken {
namespace {

struct V16 {
  float32x4_t v0, v1, v2, v3;
};
struct M16 {
  uint32x4_t v0, v1, v2, v3;  // all bits of a lane set or clear
};

// One register after the other.
template <class R, class F, class A>
FT_INLINE R each_quad(F f, A a) {
  return {f(a.v0), f(a.v1), f(a.v2), f(a.v3)};
}
template <class R, class F, class A, class B>
FT_INLINE R each_quad(F f, A a, B b) {
  return {f(a.v0, b.v0), f(a.v1, b.v1), f(a.v2, b.v2), f(a.v3, b.v3)};
}

FT_INLINE uint32x4_t bits4(float32x4_t a) { return vreinterpretq_u32_f32(a); }
FT_INLINE float32x4_t floats4(uint32x4_t a) { return vreinterpretq_f32_u32(a); }

FT_INLINE V16 load(const float* p) {
  return {vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)};
}
FT_INLINE void store(float* p, V16 a) {
  vst1q_f32(p, a.v0);
  vst1q_f32(p + 4, a.v1);
  vst1q_f32(p + 8, a.v2);
  vst1q_f32(p + 12, a.v3);
}
FT_INLINE V16 load_n(const float* p, int n) {
  float some[16] = {};
  for (int i = 0; i < n; ++i) some[i] = p[i];
  return load(some);
}
FT_INLINE void store_n(float* p, V16 a, int n) {
  float some[16];
  store(some, a);
  for (int i = 0; i < n; ++i) p[i] = some[i];
}
FT_INLINE V16 set1(float a) {
  const float32x4_t v = vdupq_n_f32(a);
  return {v, v, v, v};
}
FT_INLINE V16 zero() { return set1(0.0F); }

FT_INLINE V16 fma(V16 a, V16 b, V16 c) {
  return {vfmaq_f32(c.v0, a.v0, b.v0), vfmaq_f32(c.v1, a.v1, b.v1), vfmaq_f32(c.v2, a.v2, b.v2),
          vfmaq_f32(c.v3, a.v3, b.v3)};
}
FT_INLINE V16 add(V16 a, V16 b) {
  return each_quad<V16>([](auto x, auto y) { return vaddq_f32(x, y); }, a, b);
}
FT_INLINE V16 sub(V16 a, V16 b) {
  return each_quad<V16>([](auto x, auto y) { return vsubq_f32(x, y); }, a, b);
}
FT_INLINE V16 mul(V16 a, V16 b) {
  return each_quad<V16>([](auto x, auto y) { return vmulq_f32(x, y); }, a, b);
}
FT_INLINE V16 div(V16 a, V16 b) {
  return each_quad<V16>([](auto x, auto y) { return vdivq_f32(x, y); }, a, b);
}
FT_INLINE V16 sqrt(V16 a) {
  return each_quad<V16>([](auto x) { return vsqrtq_f32(x); }, a);
}
// FMAX is another function: of NaN and of zeros it has its own mind. A choice leaves a denormal as
// it is; a product by a 1 that the compiler does not know flushes it, as other sets do.
FT_INLINE float32x4_t flushed4(float32x4_t a) {
  float32x4_t one = vdupq_n_f32(1.0F);
  asm("" : "+w"(one));
  return vmulq_f32(a, one);
}
FT_INLINE float32x4_t max4(float32x4_t a, float32x4_t b) {
  return flushed4(vbslq_f32(vcgtq_f32(a, b), a, b));
}
FT_INLINE float32x4_t min4(float32x4_t a, float32x4_t b) {
  return flushed4(vbslq_f32(vcltq_f32(a, b), a, b));
}
FT_INLINE V16 max(V16 a, V16 b) {
  return each_quad<V16>([](auto x, auto y) { return max4(x, y); }, a, b);
}
FT_INLINE V16 min(V16 a, V16 b) {
  return each_quad<V16>([](auto x, auto y) { return min4(x, y); }, a, b);
}
FT_INLINE V16 round_even(V16 a) {
  return each_quad<V16>([](auto x) { return vrndnq_f32(x); }, a);
}

FT_INLINE M16 less(V16 a, V16 b) {
  return each_quad<M16>([](auto x, auto y) { return vcltq_f32(x, y); }, a, b);
}
FT_INLINE M16 less_equal(V16 a, V16 b) {
  return each_quad<M16>([](auto x, auto y) { return vcleq_f32(x, y); }, a, b);
}
FT_INLINE M16 is_nan(V16 a) {
  return each_quad<M16>([](auto x) { return vmvnq_u32(vceqq_f32(x, x)); }, a);
}
FT_INLINE M16 lanes(std::uint16_t bits) {
  const uint32x4_t bit = {1, 2, 4, 8}, all = vdupq_n_u32(bits);
  return {vtstq_u32(all, bit), vtstq_u32(all, vshlq_n_u32(bit, 4)),
          vtstq_u32(all, vshlq_n_u32(bit, 8)), vtstq_u32(all, vshlq_n_u32(bit, 12))};
}
FT_INLINE V16 select(M16 m, V16 a, V16 b) {
  return {vbslq_f32(m.v0, a.v0, b.v0), vbslq_f32(m.v1, a.v1, b.v1), vbslq_f32(m.v2, a.v2, b.v2),
          vbslq_f32(m.v3, a.v3, b.v3)};
}

FT_INLINE V16 add_exponent(V16 a, V16 t) {
  return each_quad<V16>(
      [](auto x, auto n) { return floats4(vaddq_u32(bits4(x), vshlq_n_u32(bits4(n), 23))); }, a, t);
}

FT_INLINE V16 load_bf16(const std::uint16_t* p) {
  const uint16x8_t a = vld1q_u16(p), b = vld1q_u16(p + 8);
  return {floats4(vshll_n_u16(vget_low_u16(a), 16)), floats4(vshll_high_n_u16(a, 16)),
          floats4(vshll_n_u16(vget_low_u16(b), 16)), floats4(vshll_high_n_u16(b, 16))};
}
// BFCVTN would round to the same, but not flush what is denormal.
FT_INLINE uint32x4_t bf16_bits4(float32x4_t a) {
  const uint32x4_t bits = bits4(a), high = vshrq_n_u32(bits, 16);
  const uint32x4_t odd = vandq_u32(high, vdupq_n_u32(1));
  const uint32x4_t r = vshrq_n_u32(vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff))), 16);
  const uint32x4_t magnitude = vandq_u32(bits, vdupq_n_u32(0x7fffffff));
  const uint32x4_t denormal = vcltq_u32(magnitude, vdupq_n_u32(0x00800000));
  const uint32x4_t nan = vcgtq_u32(magnitude, vdupq_n_u32(0x7f800000));
  const uint32x4_t flushed = vandq_u32(high, vdupq_n_u32(0x8000));
  const uint32x4_t quiet = vorrq_u32(high, vdupq_n_u32(0x40));
  return vbslq_u32(nan, quiet, vbslq_u32(denormal, flushed, r));
}
FT_INLINE void store_bf16(std::uint16_t* p, V16 a) {
  vst1q_u16(p, vuzp1q_u16(vreinterpretq_u16_u32(bf16_bits4(a.v0)),
                          vreinterpretq_u16_u32(bf16_bits4(a.v1))));
  vst1q_u16(p + 8, vuzp1q_u16(vreinterpretq_u16_u32(bf16_bits4(a.v2)),
                              vreinterpretq_u16_u32(bf16_bits4(a.v3))));
}
FT_INLINE V16 round_bf16(V16 a) {
  return each_quad<V16>([](auto x) { return floats4(vshlq_n_u32(bf16_bits4(x), 16)); }, a);
}
FT_INLINE float32x4_t upper_halves(uint32x4_t a) {
  return floats4(vandq_u32(a, vdupq_n_u32(0xffff0000U)));
}
FT_INLINE V16 round_plain_bf16(V16 a) {
  return each_quad<V16>(
      [](auto x) {
        const uint32x4_t bits = bits4(x);
        const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
        return upper_halves(vaddq_u32(vaddq_u32(bits, vdupq_n_u32(0x7fff)), odd));
      },
      a);
}
FT_INLINE V16 from_halfs(uint16x8_t a, uint16x8_t b) {
  const float16x8_t x = vreinterpretq_f16_u16(a), y = vreinterpretq_f16_u16(b);
  return {vcvt_f32_f16(vget_low_f16(x)), vcvt_high_f32_f16(x), vcvt_f32_f16(vget_low_f16(y)),
          vcvt_high_f32_f16(y)};
}
FT_INLINE V16 load_f16(const std::uint16_t* p) {
  return from_halfs(vld1q_u16(p), vld1q_u16(p + 8));
}
FT_INLINE void store_f16(std::uint16_t* p, V16 a) {
  vst1q_u16(p, vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(a.v0), a.v1)));
  vst1q_u16(p + 8, vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(a.v2), a.v3)));
}
struct PairsOf16 {
  uint32x4_t v0, v1, v2, v3;
};
FT_INLINE PairsOf16 load_pairs(const std::uint16_t* p) {
  return {vreinterpretq_u32_u16(vld1q_u16(p)), vreinterpretq_u32_u16(vld1q_u16(p + 8)),
          vreinterpretq_u32_u16(vld1q_u16(p + 16)), vreinterpretq_u32_u16(vld1q_u16(p + 24))};
}
FT_INLINE V16 even_bf16(const std::uint16_t* p) {
  return each_quad<V16>([](auto x) { return floats4(vshlq_n_u32(x, 16)); }, load_pairs(p));
}
FT_INLINE V16 odd_bf16(const std::uint16_t* p) {
  return each_quad<V16>([](auto x) { return upper_halves(x); }, load_pairs(p));
}

FT_INLINE float reduce_sum(V16 a) {
  const float32x4_t four = vaddq_f32(vaddq_f32(a.v0, a.v2), vaddq_f32(a.v1, a.v3));
  const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}
FT_INLINE float reduce_max(V16 a) {
  const float32x4_t four = max4(max4(a.v0, a.v2), max4(a.v1, a.v3));
  const float32x4_t two = max4(four, vextq_f32(four, four, 2));
  return max1(vgetq_lane_f32(two, 0), vgetq_lane_f32(two, 1));
}

}  // namespace
}  // namespace foretoken
