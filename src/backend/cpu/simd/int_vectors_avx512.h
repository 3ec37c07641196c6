#pragma once
// I16 as one AVX-512 register; see int_vectors.h for what the functions mean. For translation units
// of kernels only (v16.h).

#include "backend/cpu/simd/v16.h"

namespace foretoken {
namespace {

struct I16 {
  __m512i v;
};
FT_INLINE I16 int_zero() { return {_mm512_setzero_si512()}; }
FT_INLINE I16 int_set1(std::int32_t a) { return {_mm512_set1_epi32(a)}; }
FT_INLINE I16 int_load(const void* p) { return {_mm512_loadu_si512(p)}; }
FT_INLINE void int_store(void* p, I16 a) { _mm512_storeu_si512(p, a.v); }
FT_INLINE I16 int_add(I16 a, I16 b) { return {_mm512_add_epi32(a.v, b.v)}; }
FT_INLINE I16 int_sub(I16 a, I16 b) { return {_mm512_sub_epi32(a.v, b.v)}; }
FT_INLINE I16 int_mul(I16 a, I16 b) { return {_mm512_mullo_epi32(a.v, b.v)}; }
FT_INLINE V16 to_float(I16 a) { return {_mm512_cvtepi32_ps(a.v)}; }
FT_INLINE I16 to_int(V16 a) { return {_mm512_cvtps_epi32(a.v)}; }
FT_INLINE I16 load_i16(const std::int16_t* p) {
  return {_mm512_cvtepi16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
FT_INLINE void store_i8(std::int8_t* p, V16 a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(a.v)));
}
template <int I>
FT_INLINE I16 byte_of(I16 a) {
  if constexpr (I == 3) return {_mm512_srli_epi32(a.v, 24)};
  const __m512i byte = _mm512_set1_epi32(0xff);
  return {_mm512_and_si512(I == 0 ? a.v : _mm512_srli_epi32(a.v, 8 * I), byte)};
}
template <int Shift, int Zero>
FT_INLINE V16 nibble_of(I16 a) {
  const __m512 values = _mm512_setr_ps(0 - Zero, 1 - Zero, 2 - Zero, 3 - Zero, 4 - Zero, 5 - Zero,
                                       6 - Zero, 7 - Zero, 8 - Zero, 9 - Zero, 10 - Zero, 11 - Zero,
                                       12 - Zero, 13 - Zero, 14 - Zero, 15 - Zero);
  return {_mm512_permutexvar_ps(_mm512_srli_epi32(a.v, Shift), values)};
}
template <int I>
FT_INLINE V16 e4m3_of(I16 a) {
  const __m512i raised = I == 3 ? _mm512_srli_epi32(a.v, 4) : _mm512_slli_epi32(a.v, 20 - 8 * I);
  const V16 plain = {_mm512_castsi512_ps(_mm512_ternarylogic_epi32(
      raised, _mm512_set1_epi32(kE4M3Bits), _mm512_set1_epi32(kE4M3Exponent), 0xea))};
  const V16 magnitude = below_normal(plain);
  const __m512i top = I == 3 ? a.v : _mm512_slli_epi32(a.v, 24 - 8 * I);
  return {_mm512_castsi512_ps(_mm512_ternarylogic_epi32(top, _mm512_set1_epi32(kSignBit),
                                                        _mm512_castps_si512(magnitude.v), 0xea))};
}
FT_INLINE I16 load_i8(const std::int8_t* p) {
  return {_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
template <int Right, int Mask, int Left>
FT_INLINE I16 field(I16 a) {
  const __m512i moved = Right == Left  ? a.v
                        : Right > Left ? _mm512_srli_epi16(a.v, Right > Left ? Right - Left : 0)
                                       : _mm512_slli_epi16(a.v, Left > Right ? Left - Right : 0);
  return {_mm512_and_si512(moved, _mm512_set1_epi8(static_cast<char>(Mask << Left)))};
}
FT_INLINE I16 either(I16 a, I16 b) { return {_mm512_or_si512(a.v, b.v)}; }
FT_INLINE I16 listed(I16 a, const std::uint8_t (&table)[16]) {
  const __m128i line = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
  return {_mm512_shuffle_epi8(_mm512_broadcast_i32x4(line), a.v)};
}
FT_INLINE I16 bf16_pair(V16 a, V16 b) {
  const __m512i low = _mm512_srli_epi32(_mm512_castps_si512(a.v), 16);
  return {_mm512_mask_blend_epi16(0xaaaaaaaaU, low, _mm512_castps_si512(b.v))};
}

FT_INLINE I16 int_pair(I16 a, I16 b) {
  return {_mm512_mask_blend_epi16(0xaaaaaaaaU, a.v, _mm512_slli_epi32(b.v, 16))};
}
#if defined(FT_DOT_VNNI)
FT_INLINE I16 dot_pairs(I16 acc, I16 a, I16 b) { return {_mm512_dpwssd_epi32(acc.v, a.v, b.v)}; }
#else
FT_INLINE I16 dot_pairs(I16 acc, I16 a, I16 b) {
  return {_mm512_add_epi32(acc.v, _mm512_madd_epi16(a.v, b.v))};
}
#endif

struct Codes4 {
  __m512i v;
};
struct Input4 {
  __m512i v;
};
FT_INLINE Codes4 low_codes(const void* line) {
  return {_mm512_and_si512(_mm512_loadu_si512(line), _mm512_set1_epi8(15))};
}
FT_INLINE Codes4 high_codes(const void* line) {
  return {_mm512_and_si512(_mm512_srli_epi16(_mm512_loadu_si512(line), 4), _mm512_set1_epi8(15))};
}
FT_INLINE I16 less_zeros(Codes4 a, I16 zeros) { return {_mm512_sub_epi8(a.v, zeros.v)}; }
FT_INLINE Codes4 as_codes4(I16 a) { return {a.v}; }
FT_INLINE Input4 input4(std::int32_t quad) { return {_mm512_set1_epi32(quad)}; }
FT_INLINE V16 bits_to_float(I16 a) { return {_mm512_castsi512_ps(a.v)}; }
FT_INLINE I16 bits_to_int(V16 a) { return {_mm512_castps_si512(a.v)}; }

#if defined(FT_DOT_VNNI)
using Codes8 = Codes4;
using Input8 = Input4;
FT_INLINE Codes8 as_codes8(I16 a) { return {a.v}; }
FT_INLINE Codes8 codes8(const void* line) { return {_mm512_loadu_si512(line)}; }
FT_INLINE Input8 input8(std::int32_t quad) { return input4(quad); }
FT_INLINE I16 dot(I16 acc, Codes4 w, Input4 x) { return {_mm512_dpbusd_epi32(acc.v, w.v, x.v)}; }
// Compilers would load a quad once for all of its uses and keep it on the stack.
#define FT_DOT_AT
FT_INLINE I16 dot_at(I16 acc, Codes4 w, const void* quad) {
  __asm__("vpdpbusd %2%{1to16%}, %1, %0"
          : "+v"(acc.v)
          : "v"(w.v), "m"(*static_cast<const std::int32_t*>(quad)));
  return acc;
}
#else
struct Codes8 {
  __m512i even, odd;
};
struct Input8 {
  __m512i even, odd;
};
FT_INLINE Codes8 as_codes8(I16 a) {
  return {_mm512_and_si512(a.v, _mm512_set1_epi16(0xff)), _mm512_srli_epi16(a.v, 8)};
}
FT_INLINE Codes8 codes8(const void* line) { return as_codes8(int_load(line)); }
FT_INLINE Input8 input8(std::int32_t quad) {
  const __m512i all = _mm512_set1_epi32(quad);
  return {_mm512_srai_epi16(_mm512_slli_epi16(all, 8), 8), _mm512_srai_epi16(all, 8)};
}
FT_INLINE I16 dot(I16 acc, Codes8 w, Input8 x) {
  const __m512i even = _mm512_madd_epi16(w.even, x.even), odd = _mm512_madd_epi16(w.odd, x.odd);
  return {_mm512_add_epi32(acc.v, _mm512_add_epi32(even, odd))};
}
FT_INLINE I16 dot(I16 acc, Codes4 w, Input4 x) {
  const __m512i pairs = _mm512_maddubs_epi16(w.v, x.v);
  return {_mm512_add_epi32(acc.v, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)))};
}
#define FT_DOT_PAIRS
struct Pairs {
  __m512i v;
};
FT_INLINE Pairs pairs(Codes4 w, Input4 x) { return {_mm512_maddubs_epi16(w.v, x.v)}; }
FT_INLINE Pairs add_pairs(Pairs a, Pairs b) { return {_mm512_add_epi16(a.v, b.v)}; }
FT_INLINE I16 sum_pairs(Pairs a) { return {_mm512_madd_epi16(a.v, _mm512_set1_epi16(1))}; }
FT_INLINE I16 times_pairs(Pairs a, I16 factors) { return {_mm512_madd_epi16(a.v, factors.v)}; }
#endif

}  // namespace
}  // namespace foretoken
