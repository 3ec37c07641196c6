#pragma once
// I16 as four NEON registers; see int_vectors.h for what the functions mean. With FT_DOT_MIXED the
// product is USDOT, with FT_DOT_SIGNED it is SDOT; without them it goes through 16 bits. Where an
// instruction multiplies signed codes only, those of 8 bits are taken less 128, and 128 times the
// input's sum is added. For translation units of kernels only (v16.h).

#include "backend/cpu/simd/v16.h"

namespace foretoken {
namespace {

struct I16 {
  int32x4_t v0, v1, v2, v3;
};
FT_INLINE uint32x4_t unsigned4(int32x4_t a) { return vreinterpretq_u32_s32(a); }
FT_INLINE int32x4_t signed4(uint32x4_t a) { return vreinterpretq_s32_u32(a); }
FT_INLINE uint8x16_t bytes_of(int32x4_t a) { return vreinterpretq_u8_s32(a); }
FT_INLINE int32x4_t of_bytes(uint8x16_t a) { return vreinterpretq_s32_u8(a); }

FT_INLINE I16 int_set1(std::int32_t a) {
  const int32x4_t v = vdupq_n_s32(a);
  return {v, v, v, v};
}
FT_INLINE I16 int_zero() { return int_set1(0); }
FT_INLINE I16 int_load(const void* p) {
  const auto* const from = static_cast<const std::uint8_t*>(p);
  return {of_bytes(vld1q_u8(from)), of_bytes(vld1q_u8(from + 16)), of_bytes(vld1q_u8(from + 32)),
          of_bytes(vld1q_u8(from + 48))};
}
FT_INLINE void int_store(void* p, I16 a) {
  auto* const to = static_cast<std::uint8_t*>(p);
  vst1q_u8(to, bytes_of(a.v0));
  vst1q_u8(to + 16, bytes_of(a.v1));
  vst1q_u8(to + 32, bytes_of(a.v2));
  vst1q_u8(to + 48, bytes_of(a.v3));
}
FT_INLINE I16 int_add(I16 a, I16 b) {
  return each_quad<I16>([](auto x, auto y) { return vaddq_s32(x, y); }, a, b);
}
FT_INLINE I16 int_sub(I16 a, I16 b) {
  return each_quad<I16>([](auto x, auto y) { return vsubq_s32(x, y); }, a, b);
}
FT_INLINE I16 int_mul(I16 a, I16 b) {
  return each_quad<I16>([](auto x, auto y) { return vmulq_s32(x, y); }, a, b);
}
FT_INLINE V16 to_float(I16 a) {
  return each_quad<V16>([](auto x) { return vcvtq_f32_s32(x); }, a);
}
FT_INLINE I16 to_int(V16 a) {
  return each_quad<I16>([](auto x) { return vcvtnq_s32_f32(x); }, a);
}
FT_INLINE I16 widened16(int16x8_t a, int16x8_t b) {
  return {vmovl_s16(vget_low_s16(a)), vmovl_high_s16(a), vmovl_s16(vget_low_s16(b)),
          vmovl_high_s16(b)};
}
FT_INLINE I16 load_i16(const std::int16_t* p) { return widened16(vld1q_s16(p), vld1q_s16(p + 8)); }
FT_INLINE I16 load_i8(const std::int8_t* p) {
  const int8x16_t all = vld1q_s8(p);
  return widened16(vmovl_s8(vget_low_s8(all)), vmovl_high_s8(all));
}
FT_INLINE void store_i8(std::int8_t* p, V16 a) {
  const I16 all = to_int(a);
  const int16x8_t first = vcombine_s16(vmovn_s32(all.v0), vmovn_s32(all.v1));
  const int16x8_t second = vcombine_s16(vmovn_s32(all.v2), vmovn_s32(all.v3));
  vst1q_s8(p, vcombine_s8(vmovn_s16(first), vmovn_s16(second)));
}

// a << Up; a >> -Up where Up is negative. Bits that move in are zero.
template <int Up>
FT_INLINE uint32x4_t moved4(uint32x4_t a) {
  if constexpr (Up > 0)
    return vshlq_n_u32(a, Up);
  else if constexpr (Up < 0)
    return vshrq_n_u32(a, -Up);
  else
    return a;
}
template <int I>
FT_INLINE I16 byte_of(I16 a) {
  return each_quad<I16>(
      [](auto x) { return signed4(vandq_u32(moved4<-8 * I>(unsigned4(x)), vdupq_n_u32(0xff))); },
      a);
}
template <int Shift, int Zero>
FT_INLINE V16 nibble_of(I16 a) {
  const I16 codes = each_quad<I16>(
      [](auto x) { return signed4(vandq_u32(moved4<-Shift>(unsigned4(x)), vdupq_n_u32(15))); }, a);
  return to_float(Zero == 0 ? codes : int_sub(codes, int_set1(Zero)));
}
template <int I>
FT_INLINE V16 e4m3_of(I16 a) {
  const V16 magnitude = below_normal(each_quad<V16>(
      [](auto x) {
        const uint32x4_t kept = vandq_u32(moved4<20 - 8 * I>(unsigned4(x)), vdupq_n_u32(kE4M3Bits));
        return floats4(vorrq_u32(kept, vdupq_n_u32(kE4M3Exponent)));
      },
      a));
  return each_quad<V16>(
      [](auto x, auto y) {
        const uint32x4_t sign = vdupq_n_u32(0x80000000U);
        return floats4(vbslq_u32(sign, moved4<24 - 8 * I>(unsigned4(x)), bits4(y)));
      },
      a, magnitude);
}
template <int Right, int Mask, int Left>
FT_INLINE I16 field(I16 a) {
  return each_quad<I16>(
      [](auto x) {
        uint8x16_t bytes = bytes_of(x);
        if constexpr (Right > Left) bytes = vshrq_n_u8(bytes, Right - Left);
        if constexpr (Left > Right) bytes = vshlq_n_u8(bytes, Left - Right);
        return of_bytes(vandq_u8(bytes, vdupq_n_u8(Mask << Left)));
      },
      a);
}
FT_INLINE I16 either(I16 a, I16 b) {
  return each_quad<I16>([](auto x, auto y) { return vorrq_s32(x, y); }, a, b);
}
FT_INLINE I16 listed(I16 a, const std::uint8_t (&table)[16]) {
  const uint8x16_t words = vld1q_u8(table);
  return each_quad<I16>([=](auto x) { return of_bytes(vqtbl1q_u8(words, bytes_of(x))); }, a);
}
FT_INLINE I16 bf16_pair(V16 a, V16 b) {
  return each_quad<I16>([](auto x, auto y) { return signed4(vsriq_n_u32(bits4(y), bits4(x), 16)); },
                        a, b);
}
FT_INLINE I16 int_pair(I16 a, I16 b) {
  return each_quad<I16>([](auto x, auto y) { return vsliq_n_s32(x, y, 16); }, a, b);
}
FT_INLINE I16 dot_pairs(I16 acc, I16 a, I16 b) {
  const I16 products = each_quad<I16>(
      [](auto x, auto y) {
        const int16x8_t left = vreinterpretq_s16_s32(x), right = vreinterpretq_s16_s32(y);
        const int32x4_t first = vmull_s16(vget_low_s16(left), vget_low_s16(right));
        return vpaddq_s32(first, vmull_high_s16(left, right));
      },
      a, b);
  return int_add(acc, products);
}
FT_INLINE V16 bits_to_float(I16 a) {
  return each_quad<V16>([](auto x) { return vreinterpretq_f32_s32(x); }, a);
}
FT_INLINE I16 bits_to_int(V16 a) {
  return each_quad<I16>([](auto x) { return vreinterpretq_s32_f32(x); }, a);
}

struct Codes4 {
  uint8x16_t v0, v1, v2, v3;
};
struct Input4 {
  int8x16_t v;
};
FT_INLINE Codes4 as_codes4(I16 a) {
  return each_quad<Codes4>([](auto x) { return bytes_of(x); }, a);
}
FT_INLINE Codes4 low_codes(const void* line) {
  return each_quad<Codes4>([](auto x) { return vandq_u8(bytes_of(x), vdupq_n_u8(15)); },
                           int_load(line));
}
FT_INLINE Codes4 high_codes(const void* line) {
  return each_quad<Codes4>([](auto x) { return vshrq_n_u8(bytes_of(x), 4); }, int_load(line));
}
FT_INLINE I16 less_zeros(Codes4 a, I16 zeros) {
  return each_quad<I16>([](auto x, auto y) { return of_bytes(vsubq_u8(x, bytes_of(y))); }, a,
                        zeros);
}
FT_INLINE Input4 input4(std::int32_t quad) { return {vreinterpretq_s8_s32(vdupq_n_s32(quad))}; }

// Signed codes with signed ones.
#if defined(FT_DOT_MIXED) || defined(FT_DOT_SIGNED)
FT_INLINE int32x4_t dot4(int32x4_t acc, int8x16_t w, int8x16_t x) { return vdotq_s32(acc, w, x); }
#else
// Two products of a pair fit 16 bits, input codes being 127 at most.
FT_INLINE int32x4_t dot4(int32x4_t acc, int8x16_t w, int8x16_t x) {
  const int16x8_t first = vmull_s8(vget_low_s8(w), vget_low_s8(x)), second = vmull_high_s8(w, x);
  return vpadalq_s16(acc, vpaddq_s16(first, second));
}
#endif
FT_INLINE I16 dot(I16 acc, Codes4 w, Input4 x) {
  return each_quad<I16>(
      [=](auto sum, auto codes) { return dot4(sum, vreinterpretq_s8_u8(codes), x.v); }, acc, w);
}

#if defined(FT_DOT_MIXED)
struct Codes8 {
  uint8x16_t v0, v1, v2, v3;
};
struct Input8 {
  int8x16_t v;
};
FT_INLINE Codes8 as_codes8(I16 a) {
  return each_quad<Codes8>([](auto x) { return bytes_of(x); }, a);
}
FT_INLINE Input8 input8(std::int32_t quad) { return {input4(quad).v}; }
FT_INLINE I16 dot(I16 acc, Codes8 w, Input8 x) {
  return each_quad<I16>([=](auto sum, auto codes) { return vusdotq_s32(sum, codes, x.v); }, acc, w);
}
#else
struct Codes8 {
  int8x16_t v0, v1, v2, v3;  // less 128
};
struct Input8 {
  int8x16_t v;
  int32x4_t more;
};
FT_INLINE Codes8 as_codes8(I16 a) {
  return each_quad<Codes8>(
      [](auto x) { return vreinterpretq_s8_u8(veorq_u8(bytes_of(x), vdupq_n_u8(0x80))); }, a);
}
FT_INLINE Input8 input8(std::int32_t quad) {
  const int8x16_t x = input4(quad).v;
  return {x, vshlq_n_s32(vpaddlq_s16(vpaddlq_s8(x)), 7)};
}
FT_INLINE I16 dot(I16 acc, Codes8 w, Input8 x) {
  return each_quad<I16>(
      [=](auto sum, auto codes) { return dot4(vaddq_s32(sum, x.more), codes, x.v); }, acc, w);
}
#endif
FT_INLINE Codes8 codes8(const void* line) { return as_codes8(int_load(line)); }

}  // namespace
}  // namespace foretoken
