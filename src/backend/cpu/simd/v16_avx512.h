#pragma once
// V16 as one AVX-512 register; see v16.h for what the functions mean.

#include <cstdint>

#include <immintrin.h>

namespace foretoken {
namespace {

struct V16 {
  __m512 v;
};
struct M16 {
  __mmask16 m;
};

FT_INLINE V16 load(const float* p) { return {_mm512_loadu_ps(p)}; }
FT_INLINE void store(float* p, V16 a) { _mm512_storeu_ps(p, a.v); }
FT_INLINE __mmask16 first_lanes(int n) { return static_cast<__mmask16>((1U << n) - 1U); }
FT_INLINE V16 load_n(const float* p, int n) { return {_mm512_maskz_loadu_ps(first_lanes(n), p)}; }
FT_INLINE void store_n(float* p, V16 a, int n) { _mm512_mask_storeu_ps(p, first_lanes(n), a.v); }
FT_INLINE V16 set1(float a) { return {_mm512_set1_ps(a)}; }
FT_INLINE V16 zero() { return {_mm512_setzero_ps()}; }

FT_INLINE V16 fma(V16 a, V16 b, V16 c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
FT_INLINE V16 add(V16 a, V16 b) { return {_mm512_add_ps(a.v, b.v)}; }
FT_INLINE V16 sub(V16 a, V16 b) { return {_mm512_sub_ps(a.v, b.v)}; }
FT_INLINE V16 mul(V16 a, V16 b) { return {_mm512_mul_ps(a.v, b.v)}; }
FT_INLINE V16 div(V16 a, V16 b) { return {_mm512_div_ps(a.v, b.v)}; }
FT_INLINE V16 sqrt(V16 a) { return {_mm512_sqrt_ps(a.v)}; }
FT_INLINE V16 max(V16 a, V16 b) { return {_mm512_max_ps(a.v, b.v)}; }
FT_INLINE V16 min(V16 a, V16 b) { return {_mm512_min_ps(a.v, b.v)}; }
FT_INLINE V16 round_even(V16 a) {
  return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}

FT_INLINE M16 less(V16 a, V16 b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)}; }
FT_INLINE M16 less_equal(V16 a, V16 b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LE_OQ)}; }
FT_INLINE M16 is_nan(V16 a) { return {_mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q)}; }
FT_INLINE M16 lanes(std::uint16_t bits) { return {static_cast<__mmask16>(bits)}; }
FT_INLINE V16 select(M16 m, V16 a, V16 b) { return {_mm512_mask_blend_ps(m.m, b.v, a.v)}; }

FT_INLINE V16 add_exponent(V16 a, V16 t) {
  const __m512i n = _mm512_slli_epi32(_mm512_castps_si512(t.v), 23);
  return {_mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(a.v), n))};
}

FT_INLINE V16 split_nearest(V16& a) {
  const V16 r = {_mm512_reduce_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
  a = sub(a, r);
  return r;
}
// What is too small is flushed to 0 (FTZ).
FT_INLINE V16 shrink(V16 a, V16 n) { return {_mm512_scalef_ps(a.v, n.v)}; }

FT_INLINE V16 load_bf16(const std::uint16_t* p) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16))};
}
#ifdef __AVX512BF16__
FT_INLINE __m256i bf16_of(V16 a) { return (__m256i)_mm512_cvtneps_pbh(a.v); }
FT_INLINE V16 round_bf16(V16 a) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bf16_of(a)), 16))};
}
#else
FT_INLINE __m512i bf16_bits(V16 a) {
  const __m512i bits = _mm512_castps_si512(a.v);
  const __m512i high = _mm512_srli_epi32(bits, 16);
  const __m512i odd = _mm512_and_si512(high, _mm512_set1_epi32(1));
  const __m512i bias = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
  __m512i r = _mm512_srli_epi32(_mm512_add_epi32(bits, bias), 16);
  const __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff));
  const __mmask16 denormal = _mm512_cmplt_epi32_mask(magnitude, _mm512_set1_epi32(0x00800000));
  const __mmask16 nan = _mm512_cmpgt_epi32_mask(magnitude, _mm512_set1_epi32(0x7f800000));
  r = _mm512_mask_and_epi32(r, denormal, high, _mm512_set1_epi32(0x8000));
  return _mm512_mask_or_epi32(r, nan, high, _mm512_set1_epi32(0x40));
}
FT_INLINE __m256i bf16_of(V16 a) { return _mm512_cvtepi32_epi16(bf16_bits(a)); }
FT_INLINE V16 round_bf16(V16 a) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(bf16_bits(a), 16))};
}
#endif
FT_INLINE void store_bf16(std::uint16_t* p, V16 a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), bf16_of(a));
}
FT_INLINE V16 round_plain_bf16(V16 a) {
  const __m512i bits = _mm512_castps_si512(a.v);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i r = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
  const __m512i high = _mm512_set1_epi32(static_cast<int>(0xffff0000U));
  return {_mm512_castsi512_ps(_mm512_and_si512(r, high))};
}
FT_INLINE V16 load_f16(const std::uint16_t* p) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
FT_INLINE void store_f16(std::uint16_t* p, V16 a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
FT_INLINE V16 even_bf16(const std::uint16_t* p) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_loadu_si512(p), 16))};
}
FT_INLINE V16 odd_bf16(const std::uint16_t* p) {
  const __m512i high = _mm512_set1_epi32(static_cast<int>(0xffff0000U));
  return {_mm512_castsi512_ps(_mm512_and_si512(_mm512_loadu_si512(p), high))};
}

FT_INLINE float reduce_sum(V16 a) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
FT_INLINE float reduce_max(V16 a) {
  const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

// Each step halves what is left of a row and puts two rows into a register.
template <typename Join>
FT_INLINE V16 reduce_rows(const V16 (&a)[16], Join join) {
  __m512 eight[8], four[4], two[2];
  FT_UNROLL
  for (int i = 0; i < 8; ++i)
    eight[i] = join(_mm512_shuffle_f32x4(a[i].v, a[i + 8].v, 0x44),
                    _mm512_shuffle_f32x4(a[i].v, a[i + 8].v, 0xee));
  FT_UNROLL
  for (int i = 0; i < 4; ++i)
    four[i] = join(_mm512_shuffle_f32x4(eight[i], eight[i + 4], 0x88),
                   _mm512_shuffle_f32x4(eight[i], eight[i + 4], 0xdd));
  FT_UNROLL
  for (int i = 0; i < 2; ++i)
    two[i] = join(_mm512_shuffle_ps(four[i], four[i + 2], 0x44),
                  _mm512_shuffle_ps(four[i], four[i + 2], 0xee));
  const __m512 one =
      join(_mm512_shuffle_ps(two[0], two[1], 0x88), _mm512_shuffle_ps(two[0], two[1], 0xdd));
  const __m512i place = _mm512_setr_epi32(0, 2, 1, 3, 8, 10, 9, 11, 4, 6, 5, 7, 12, 14, 13, 15);
  return {_mm512_permutexvar_ps(place, one)};
}
FT_INLINE V16 reduce_rows_sum(const V16 (&a)[16]) {
  return reduce_rows(a, [](__m512 x, __m512 y) { return _mm512_add_ps(x, y); });
}
FT_INLINE V16 reduce_rows_max(const V16 (&a)[16]) {
  return reduce_rows(a, [](__m512 x, __m512 y) { return _mm512_max_ps(x, y); });
}

// Each step doubles the distance of what is exchanged.
FT_INLINE void transpose(V16 (&a)[16]) {
  __m512 t[16];
  FT_UNROLL
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(a[i].v, a[i + 1].v);
    t[i + 1] = _mm512_unpackhi_ps(a[i].v, a[i + 1].v);
  }
  FT_UNROLL
  for (int i = 0; i < 16; i += 4) {
    a[i].v = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
    a[i + 1].v = _mm512_shuffle_ps(t[i], t[i + 2], 0xee);
    a[i + 2].v = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    a[i + 3].v = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  FT_UNROLL
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_f32x4(a[i].v, a[i + 4].v, 0x88);
    t[i + 4] = _mm512_shuffle_f32x4(a[i].v, a[i + 4].v, 0xdd);
    t[i + 8] = _mm512_shuffle_f32x4(a[i + 8].v, a[i + 12].v, 0x88);
    t[i + 12] = _mm512_shuffle_f32x4(a[i + 8].v, a[i + 12].v, 0xdd);
  }
  FT_UNROLL
  for (int i = 0; i < 8; ++i) {
    a[i].v = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
    a[i + 8].v = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
  }
}

}  // namespace
}  // namespace foretoken
