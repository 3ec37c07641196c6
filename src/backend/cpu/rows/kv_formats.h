#pragma once
// How keys and values of one dtype are read and written, sixteen elements at a time: floats as they
// are, codes of 8 bits with a scale for each row (one token, one KV head). What codes mean says
// backend/kv_codes.h; here they are made with integer arithmetic and read through fp16, to the same
// bits. For translation units of kernels only (v16.h).

#include "backend/cpu/simd/row_reach.h"
#include "backend/cpu/simd/v16.h"
#include "backend/cpu/table/op_kernels.h"

namespace foretoken {
namespace {

// The first n of sixteen elements; the others are 0.
template <typename Kv>
FT_INLINE V16 read_n(const typename Kv::Element* p, int n) {
  typename Kv::Element some[16] = {};
  for (int i = 0; i < n; ++i) some[i] = p[i];
  return Kv::read(some);
}

// ---- Floats
template <typename Element_, V16 (*kLoad)(const Element_*), void (*kStore)(Element_*, V16)>
struct KvFormat {
  using Element = Element_;
  static constexpr bool kIsCode = false;
  static FT_INLINE V16 read(const Element* p) { return kLoad(p); }
  static FT_INLINE void write(Element* p, V16 a) { kStore(p, a); }
  // Dimensions d .. d + n - 1 of a row of KV of which dimension 0 lies at p, see host_step.h.
  static FT_INLINE void store_key(Element* p, int d, V16 a, int n) {
    scatter(p + d * kAttnSlots, kAttnSlots, a, n);
  }
  static FT_INLINE void store_value(Element* p, int d, V16 a, int n) { scatter(p + d, 1, a, n); }

 protected:
  static FT_INLINE void scatter(Element* p, int step, V16 a, int n) {
    Element some[16];
    write(some, a);
    for (int i = 0; i < n; ++i) p[i * step] = some[i];
  }
};
// Pairs of dimensions of keys, and of slots of values, lie side by side.
struct KvBf16 : KvFormat<std::uint16_t, load_bf16, store_bf16> {
  static FT_INLINE void store_key(Element* p, int d, V16 a, int n) {
    Element some[16];
    write(some, a);
    for (int i = 0; i < n; i += 2) __builtin_memcpy(p + (d + i) * kAttnSlots, some + i, 4);
  }
  static FT_INLINE void store_value(Element* p, int d, V16 a, int n) {
    scatter(p + d * 2, 2, a, n);
  }
};
struct KvF16 : KvFormat<std::uint16_t, load_f16, store_f16> {};
struct KvF32 : KvFormat<float, load, store> {};

// ---- Reading codes
#if defined(FT_V16_AVX512)
FT_INLINE __m128i load_codes(const std::uint8_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
// Each byte as the upper half of 16 bits.
FT_INLINE __m256i upper_bytes(const std::uint8_t* p) {
  return _mm256_slli_epi16(_mm256_cvtepu8_epi16(load_codes(p)), 8);
}
FT_INLINE V16 load_int8(const std::uint8_t* p) {
  return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load_codes(p)))};
}
FT_INLINE V16 load_e5m2(const std::uint8_t* p) { return {_mm512_cvtph_ps(upper_bytes(p))}; }
FT_INLINE V16 load_e4m3(const std::uint8_t* p) {
  // One exponent bit fewer: all but the sign move down by one.
  const __m256i moved = _mm256_srai_epi16(upper_bytes(p), 1);
  return {_mm512_cvtph_ps(_mm256_and_si256(moved, _mm256_set1_epi16(static_cast<short>(0xbfff))))};
}
#elif defined(FT_V16_AVX2)
FT_INLINE __m128i load_codes8(const std::uint8_t* p) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
}
FT_INLINE __m128i upper_bytes8(const std::uint8_t* p) {
  return _mm_slli_epi16(_mm_cvtepu8_epi16(load_codes8(p)), 8);
}
FT_INLINE V16 load_int8(const std::uint8_t* p) {
  return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(load_codes8(p))),
          _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(load_codes8(p + 8)))};
}
FT_INLINE V16 load_e5m2(const std::uint8_t* p) {
  return {_mm256_cvtph_ps(upper_bytes8(p)), _mm256_cvtph_ps(upper_bytes8(p + 8))};
}
FT_INLINE __m256 load_e4m3_8(const std::uint8_t* p) {
  const __m128i moved = _mm_srai_epi16(upper_bytes8(p), 1);
  return _mm256_cvtph_ps(_mm_and_si128(moved, _mm_set1_epi16(static_cast<short>(0xbfff))));
}
FT_INLINE V16 load_e4m3(const std::uint8_t* p) { return {load_e4m3_8(p), load_e4m3_8(p + 8)}; }
#elif defined(FT_V16_NEON)
FT_INLINE float32x4_t floats_of(int16x4_t a) { return vcvtq_f32_s32(vmovl_s16(a)); }
FT_INLINE V16 load_int8(const std::uint8_t* p) {
  const int8x16_t codes = vreinterpretq_s8_u8(vld1q_u8(p));
  const int16x8_t low = vmovl_s8(vget_low_s8(codes)), high = vmovl_high_s8(codes);
  return {floats_of(vget_low_s16(low)), floats_of(vget_high_s16(low)),
          floats_of(vget_low_s16(high)), floats_of(vget_high_s16(high))};
}
FT_INLINE V16 load_e5m2(const std::uint8_t* p) {
  const uint8x16_t codes = vld1q_u8(p);
  return from_halfs(vshll_n_u8(vget_low_u8(codes), 8), vshll_high_n_u8(codes, 8));
}
FT_INLINE uint16x8_t halfs_of_e4m3(uint16x8_t upper) {
  const int16x8_t moved = vshrq_n_s16(vreinterpretq_s16_u16(upper), 1);
  return vandq_u16(vreinterpretq_u16_s16(moved), vdupq_n_u16(0xbfff));
}
FT_INLINE V16 load_e4m3(const std::uint8_t* p) {
  const uint8x16_t codes = vld1q_u8(p);
  return from_halfs(halfs_of_e4m3(vshll_n_u8(vget_low_u8(codes), 8)),
                    halfs_of_e4m3(vshll_high_n_u8(codes, 8)));
}
#else
FT_INLINE V16 load_int8(const std::uint8_t* p) {
  return each_lane([=](int i) { return static_cast<float>(static_cast<std::int8_t>(p[i])); });
}
FT_INLINE V16 load_e5m2(const std::uint8_t* p) {
  return each_lane([=](int i) { return from_f16(static_cast<std::uint16_t>(p[i] << 8)); });
}
FT_INLINE V16 load_e4m3(const std::uint8_t* p) {
  return each_lane([=](int i) {
    return from_f16(static_cast<std::uint16_t>((p[i] & 0x80) << 8 | (p[i] & 0x7f) << 7));
  });
}
#endif

// ---- Making codes, of values within +-last
FT_INLINE std::uint32_t raw_bits(float a) { return __builtin_bit_cast(std::uint32_t, a); }

FT_INLINE std::uint8_t int8_of(float value) {
  return static_cast<std::uint8_t>(raw_bits(value + kRoundMagic));
}

// The upper bits of an fp16, rounded to nearest even from the float32 at once. Below the least
// normal number a sum leaves the multiple of the last place in its low bits.
template <int kMantissa>
FT_INLINE std::uint8_t float8_of(float value) {
  constexpr int kDropped = 23 - kMantissa;
  constexpr std::uint32_t kRebias = (127U - 15U) << kMantissa, kLeastNormal = (127U - 14U) << 23;
  constexpr float kLastPlaces = 1U << (9 - kMantissa);  // whose last place is 2^(-14 - kMantissa)
  const std::uint32_t bits = raw_bits(value), magnitude = bits & 0x7fffffffU;
  const std::uint32_t odd = (magnitude >> kDropped) & 1U;
  const std::uint32_t normal =
      ((magnitude + (1U << (kDropped - 1)) - 1U + odd) >> kDropped) - kRebias;
  const std::uint32_t small =
      raw_bits(__builtin_bit_cast(float, magnitude) + kLastPlaces) - raw_bits(kLastPlaces);
  return static_cast<std::uint8_t>((magnitude < kLeastNormal ? small : normal) |
                                   (bits >> 24 & 0x80U));
}

template <V16 (*kLoad)(const std::uint8_t*), std::uint8_t (*kCode)(float)>
struct KvCode {
  using Element = std::uint8_t;
  static constexpr bool kIsCode = true;
  static FT_INLINE V16 read(const Element* p) { return kLoad(p); }

  // A row of `dim` values as codes `step` apart; returns its scale.
  static float write_row(const float* x, int dim, float last, Element* to, int step) {
    const auto [farthest, is_finite] = reach_of(x, dim);
    if (!is_finite || farthest < kLeastReach) {
      for (int d = 0; d < dim; ++d) to[d * step] = 0;
      return is_finite ? 0.0F : __builtin_nanf("");
    }
    const V16 inverse = set1(last / farthest);
    for (int d = 0; d < dim; d += 16) {
      const int n = dim - d < 16 ? dim - d : 16;
      float values[16];
      store(values, mul(load_upto(x + d, n), inverse));
      Element codes[16];
      for (int i = 0; i < 16; ++i) codes[i] = kCode(values[i]);
      for (int i = 0; i < n; ++i) to[(d + i) * step] = codes[i];
    }
    return farthest / last;
  }
};
struct KvInt8 : KvCode<load_int8, int8_of> {
  static constexpr float kLast = 127.0F;
};
struct KvE4M3 : KvCode<load_e4m3, float8_of<3>> {
  static constexpr float kLast = 1.75F;
};
struct KvE5M2 : KvCode<load_e5m2, float8_of<2>> {
  static constexpr float kLast = 57344.0F;
};

}  // namespace
}  // namespace foretoken
