#pragma once
// I16 as two AVX2 registers; see int_vectors.h for what the functions mean. For translation units of
// kernels only (v16.h).

#include "backend/cpu/simd/v16.h"

namespace foretoken {
namespace {

struct I16 {
  __m256i lo, hi;
};
FT_INLINE __m256i load_half(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}
FT_INLINE I16 int_zero() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
FT_INLINE I16 int_set1(std::int32_t a) { return {_mm256_set1_epi32(a), _mm256_set1_epi32(a)}; }
FT_INLINE I16 int_load(const void* p) {
  return {load_half(p), load_half(static_cast<const char*>(p) + 32)};
}
FT_INLINE void int_store(void* p, I16 a) {
  _mm256_storeu_si256(static_cast<__m256i*>(p), a.lo);
  _mm256_storeu_si256(static_cast<__m256i*>(p) + 1, a.hi);
}
FT_INLINE I16 int_add(I16 a, I16 b) {
  return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)};
}
FT_INLINE I16 int_sub(I16 a, I16 b) {
  return {_mm256_sub_epi32(a.lo, b.lo), _mm256_sub_epi32(a.hi, b.hi)};
}
FT_INLINE I16 int_mul(I16 a, I16 b) {
  return {_mm256_mullo_epi32(a.lo, b.lo), _mm256_mullo_epi32(a.hi, b.hi)};
}
FT_INLINE V16 to_float(I16 a) { return {_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)}; }
FT_INLINE I16 to_int(V16 a) { return {_mm256_cvtps_epi32(a.lo), _mm256_cvtps_epi32(a.hi)}; }
FT_INLINE I16 load_i16(const std::int16_t* p) {
  const auto* halves = reinterpret_cast<const __m128i*>(p);
  return {_mm256_cvtepi16_epi32(_mm_loadu_si128(halves)),
          _mm256_cvtepi16_epi32(_mm_loadu_si128(halves + 1))};
}
FT_INLINE void store_i8(std::int8_t* p, V16 a) {
  const __m256i words = _mm256_packs_epi32(_mm256_cvtps_epi32(a.lo), _mm256_cvtps_epi32(a.hi));
  const __m256i ordered = _mm256_permute4x64_epi64(words, 0xd8);
  const __m128i bytes =
      _mm_packs_epi16(_mm256_castsi256_si128(ordered), _mm256_extracti128_si256(ordered, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
}
template <int I>
FT_INLINE I16 byte_of(I16 a) {
  const __m256i byte = _mm256_set1_epi32(0xff);
  return {_mm256_and_si256(_mm256_srli_epi32(a.lo, 8 * I), byte),
          _mm256_and_si256(_mm256_srli_epi32(a.hi, 8 * I), byte)};
}
template <int Shift, int Zero>
FT_INLINE V16 nibble_of(I16 a) {
  const __m256i nibble = _mm256_set1_epi32(15);
  const I16 codes = {_mm256_and_si256(_mm256_srli_epi32(a.lo, Shift), nibble),
                     _mm256_and_si256(_mm256_srli_epi32(a.hi, Shift), nibble)};
  return to_float(Zero == 0 ? codes : int_sub(codes, int_set1(Zero)));
}
template <int I>
FT_INLINE __m256i raised_to(__m256i a, int bit) {
  return bit >= 8 * I ? _mm256_slli_epi32(a, bit - 8 * I) : _mm256_srli_epi32(a, 8 * I - bit);
}
FT_INLINE __m256 merged(__m256i bits, std::int32_t mask, __m256 with) {
  const __m256i kept = _mm256_and_si256(bits, _mm256_set1_epi32(mask));
  return _mm256_or_ps(_mm256_castsi256_ps(kept), with);
}
template <int I>
FT_INLINE V16 e4m3_of(I16 a) {
  const __m256 exponent = _mm256_castsi256_ps(_mm256_set1_epi32(kE4M3Exponent));
  const V16 magnitude = below_normal({merged(raised_to<I>(a.lo, 20), kE4M3Bits, exponent),
                                      merged(raised_to<I>(a.hi, 20), kE4M3Bits, exponent)});
  return {merged(raised_to<I>(a.lo, 24), kSignBit, magnitude.lo),
          merged(raised_to<I>(a.hi, 24), kSignBit, magnitude.hi)};
}
FT_INLINE I16 load_i8(const std::int8_t* p) {
  const auto half = [](const std::int8_t* from) {
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
  };
  return {half(p), half(p + 8)};
}
template <int Right, int Mask, int Left>
FT_INLINE I16 field(I16 a) {
  const __m256i mask = _mm256_set1_epi8(static_cast<char>(Mask << Left));
  const auto moved = [](__m256i v) {
    return Right == Left  ? v
           : Right > Left ? _mm256_srli_epi16(v, Right > Left ? Right - Left : 0)
                          : _mm256_slli_epi16(v, Left > Right ? Left - Right : 0);
  };
  return {_mm256_and_si256(moved(a.lo), mask), _mm256_and_si256(moved(a.hi), mask)};
}
FT_INLINE I16 either(I16 a, I16 b) {
  return {_mm256_or_si256(a.lo, b.lo), _mm256_or_si256(a.hi, b.hi)};
}
FT_INLINE I16 listed(I16 a, const std::uint8_t (&table)[16]) {
  const __m256i lines =
      _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
  return {_mm256_shuffle_epi8(lines, a.lo), _mm256_shuffle_epi8(lines, a.hi)};
}
FT_INLINE __m256i bf16_half(__m256 a, __m256 b) {
  const __m256i low = _mm256_srli_epi32(_mm256_castps_si256(a), 16);
  return _mm256_blend_epi16(low, _mm256_castps_si256(b), 0xaa);
}
FT_INLINE I16 bf16_pair(V16 a, V16 b) { return {bf16_half(a.lo, b.lo), bf16_half(a.hi, b.hi)}; }

FT_INLINE I16 int_pair(I16 a, I16 b) {
  return {_mm256_blend_epi16(a.lo, _mm256_slli_epi32(b.lo, 16), 0xaa),
          _mm256_blend_epi16(a.hi, _mm256_slli_epi32(b.hi, 16), 0xaa)};
}
#if defined(FT_DOT_VNNI)
FT_INLINE I16 dot_pairs(I16 acc, I16 a, I16 b) {
  return {_mm256_dpwssd_avx_epi32(acc.lo, a.lo, b.lo), _mm256_dpwssd_avx_epi32(acc.hi, a.hi, b.hi)};
}
#else
FT_INLINE I16 dot_pairs(I16 acc, I16 a, I16 b) {
  return {_mm256_add_epi32(acc.lo, _mm256_madd_epi16(a.lo, b.lo)),
          _mm256_add_epi32(acc.hi, _mm256_madd_epi16(a.hi, b.hi))};
}
#endif

struct Codes4 {
  __m256i lo, hi;
};
struct Input4 {
  __m256i v;
};
FT_INLINE Codes4 low_codes(const void* line) {
  const __m256i nibble = _mm256_set1_epi8(15);
  const I16 all = int_load(line);
  return {_mm256_and_si256(all.lo, nibble), _mm256_and_si256(all.hi, nibble)};
}
FT_INLINE Codes4 high_codes(const void* line) {
  const __m256i nibble = _mm256_set1_epi8(15);
  const I16 all = int_load(line);
  return {_mm256_and_si256(_mm256_srli_epi16(all.lo, 4), nibble),
          _mm256_and_si256(_mm256_srli_epi16(all.hi, 4), nibble)};
}
FT_INLINE I16 less_zeros(Codes4 a, I16 zeros) {
  return {_mm256_sub_epi8(a.lo, zeros.lo), _mm256_sub_epi8(a.hi, zeros.hi)};
}
FT_INLINE Codes4 as_codes4(I16 a) { return {a.lo, a.hi}; }
FT_INLINE Input4 input4(std::int32_t quad) { return {_mm256_set1_epi32(quad)}; }
FT_INLINE V16 bits_to_float(I16 a) {
  return {_mm256_castsi256_ps(a.lo), _mm256_castsi256_ps(a.hi)};
}
FT_INLINE I16 bits_to_int(V16 a) { return {_mm256_castps_si256(a.lo), _mm256_castps_si256(a.hi)}; }

#if defined(FT_DOT_VNNI)
using Codes8 = Codes4;
using Input8 = Input4;
FT_INLINE Codes8 as_codes8(I16 a) { return {a.lo, a.hi}; }
FT_INLINE Codes8 codes8(const void* line) { return as_codes8(int_load(line)); }
FT_INLINE Input8 input8(std::int32_t quad) { return input4(quad); }
FT_INLINE I16 dot(I16 acc, Codes4 w, Input4 x) {
  return {_mm256_dpbusd_avx_epi32(acc.lo, w.lo, x.v), _mm256_dpbusd_avx_epi32(acc.hi, w.hi, x.v)};
}
#else
struct Codes8 {
  __m256i even_lo, even_hi, odd_lo, odd_hi;
};
struct Input8 {
  __m256i even, odd;
};
FT_INLINE Codes8 as_codes8(I16 all) {
  const __m256i byte = _mm256_set1_epi16(0xff);
  return {_mm256_and_si256(all.lo, byte), _mm256_and_si256(all.hi, byte),
          _mm256_srli_epi16(all.lo, 8), _mm256_srli_epi16(all.hi, 8)};
}
FT_INLINE Codes8 codes8(const void* line) { return as_codes8(int_load(line)); }
FT_INLINE Input8 input8(std::int32_t quad) {
  const __m256i all = _mm256_set1_epi32(quad);
  return {_mm256_srai_epi16(_mm256_slli_epi16(all, 8), 8), _mm256_srai_epi16(all, 8)};
}
FT_INLINE I16 dot(I16 acc, Codes8 w, Input8 x) {
  const __m256i lo =
      _mm256_add_epi32(_mm256_madd_epi16(w.even_lo, x.even), _mm256_madd_epi16(w.odd_lo, x.odd));
  const __m256i hi =
      _mm256_add_epi32(_mm256_madd_epi16(w.even_hi, x.even), _mm256_madd_epi16(w.odd_hi, x.odd));
  return {_mm256_add_epi32(acc.lo, lo), _mm256_add_epi32(acc.hi, hi)};
}
FT_INLINE I16 dot(I16 acc, Codes4 w, Input4 x) {
  const __m256i one = _mm256_set1_epi16(1);
  const __m256i lo = _mm256_madd_epi16(_mm256_maddubs_epi16(w.lo, x.v), one);
  const __m256i hi = _mm256_madd_epi16(_mm256_maddubs_epi16(w.hi, x.v), one);
  return {_mm256_add_epi32(acc.lo, lo), _mm256_add_epi32(acc.hi, hi)};
}
#define FT_DOT_PAIRS
struct Pairs {
  __m256i lo, hi;
};
FT_INLINE Pairs pairs(Codes4 w, Input4 x) {
  return {_mm256_maddubs_epi16(w.lo, x.v), _mm256_maddubs_epi16(w.hi, x.v)};
}
// One after the other: compilers make trees of such sums, for which registers do not suffice.
FT_INLINE Pairs add_pairs(Pairs a, Pairs b) {
  Pairs sum = {_mm256_add_epi16(a.lo, b.lo), _mm256_add_epi16(a.hi, b.hi)};
  __asm__("" : "+x"(sum.lo), "+x"(sum.hi));
  return sum;
}
FT_INLINE I16 sum_pairs(Pairs a) {
  const __m256i one = _mm256_set1_epi16(1);
  return {_mm256_madd_epi16(a.lo, one), _mm256_madd_epi16(a.hi, one)};
}
FT_INLINE I16 times_pairs(Pairs a, I16 factors) {
  return {_mm256_madd_epi16(a.lo, factors.lo), _mm256_madd_epi16(a.hi, factors.hi)};
}
#endif

}  // namespace
}  // namespace foretoken
