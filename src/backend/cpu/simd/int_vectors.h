#pragma once
// I16: sixteen int32 lanes beside V16, and the product of codes: of each lane four unsigned codes
// of a weight with four signed ones of the input, added to the lane. All exact, so every variant
// gives the same bits, however it gets there. For translation units of kernels only (v16.h). With
// FT_DOT_VNNI defined the product is VPDPBUSD; without it codes of 8 bits go through 16-bit
// products, because VPMADDUBSW saturates for them.
//
// Every variant defines:
//   I16 int_zero()  int_set1(i)  int_load(p)  int_store(p, v)  int_add  int_sub  int_mul (low half)
//   to_float(v): to nearest even    to_int(v): of a V16 of integers    load_i16(p): of 16 int16
//   Codes8 codes8(line), Codes4 low_codes(line), high_codes(line): weights ready for dot
//   Input8 input8(quad), Input4 input4(quad): four codes of the input ready for dot
//   dot(acc, codes, input)
//   less_zeros(codes4, zeros): its bytes less those of an I16
//   store_i8(p, v): 16 integers within +-127    byte_of<I>(line): byte I of each lane, unsigned
//   nibble_of<Shift, Zero>(line): the 4 bits from Shift on of each lane less Zero, as floats
//   e4m3_of<I>(line): byte I of each lane as a float of E4M3 that is not NaN, times kE4M3Unit
//   bf16_pair(a, b): a in the low half of each lane, b in the high one; all are bf16 already
//   bits_to_float(v), bits_to_int(v): the same bits
//   load_i8(p): of 16 int8
//   int_pair(a, b): a in the low half of each lane, b in the high one; both fit 16 bits
//   dot_pairs(acc, a, b): of such pairs, low times low plus high times high added to acc
// And of the 64 bytes of an I16:
//   field<Right, Mask, Left>(v): ((byte >> Right) & Mask) << Left    either(a, b): the bits of both
//   listed(v): bytes below 16 looked up in a table of 16 bytes
//   as_codes4(v), as_codes8(v): ready for dot; of the first no byte is above 127
//   dot_at(acc, codes, quad): where FT_DOT_AT is defined, dot with a quad that is read by the product
// Where FT_DOT_PAIRS is defined, dot of codes4 is taken apart: pairs() of neighbours in 16 bits, which
// may be added up, add_pairs(), as long as 16 bits hold them, and sum_pairs() of these.
// times_pairs(a, f): sum_pairs(a) times the factor of each lane, int_pair(factor, factor).

#include "backend/cpu/simd/v16.h"

namespace foretoken {
namespace {

// E4M3 with its bits 0 to 6 at 20 to 26 and so much more exponent is itself times kE4M3Unit, but
// for the numbers below its normal ones, which that makes (1 + m / 8) 2^-15 of m / 8 * 2^-14. No
// denormal is touched, so that flushing them does no harm.
constexpr std::int32_t kE4M3Bits = 0x07f00000, kE4M3Exponent = 0x38000000;
constexpr std::int32_t kSignBit = -0x7fffffff - 1;
constexpr float kE4M3Unit = 0x1p-8F;
FT_INLINE V16 below_normal(V16 a) { return min(a, fma(a, set1(2.0F), set1(-0x1p-14F))); }

#if defined(FT_V16_NEON)
}  // namespace
}  // namespace foretoken
#include "backend/cpu/simd/int_vectors_neon.h"
namespace foretoken {
namespace {
#elif defined(FT_V16_AVX512)

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

#elif defined(FT_V16_AVX2)

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

#elif !defined(FT_V16_NEON)  // the definition

struct I16 {
  std::int32_t v[16];
};
template <class F>
FT_INLINE I16 each_int(F f) {
  I16 r;
  for (int i = 0; i < 16; ++i) r.v[i] = f(i);
  return r;
}
FT_INLINE I16 int_set1(std::int32_t a) {
  return each_int([=](int) { return a; });
}
FT_INLINE I16 int_zero() { return int_set1(0); }
FT_INLINE I16 int_load(const void* p) {
  I16 r;
  __builtin_memcpy(&r, p, sizeof r);
  return r;
}
FT_INLINE void int_store(void* p, I16 a) { __builtin_memcpy(p, &a, sizeof a); }
FT_INLINE I16 int_add(I16 a, I16 b) {
  return each_int([&](int i) { return a.v[i] + b.v[i]; });
}
FT_INLINE I16 int_sub(I16 a, I16 b) {
  return each_int([&](int i) { return a.v[i] - b.v[i]; });
}
FT_INLINE I16 int_mul(I16 a, I16 b) {
  return each_int([&](int i) { return a.v[i] * b.v[i]; });
}
FT_INLINE V16 to_float(I16 a) {
  return each_lane([&](int i) { return static_cast<float>(a.v[i]); });
}
FT_INLINE I16 to_int(V16 a) {
  return each_int([&](int i) { return int1(a.v[i]); });
}
FT_INLINE I16 load_i16(const std::int16_t* p) {
  return each_int([=](int i) { return p[i]; });
}
FT_INLINE void store_i8(std::int8_t* p, V16 a) {
  const I16 all = to_int(a);
  for (int i = 0; i < 16; ++i) p[i] = static_cast<std::int8_t>(all.v[i]);
}
template <int I>
FT_INLINE I16 byte_of(I16 a) {
  return each_int([&](int i) { return (a.v[i] >> (8 * I)) & 0xff; });
}
template <int Shift, int Zero>
FT_INLINE V16 nibble_of(I16 a) {
  return each_lane([&](int i) { return static_cast<float>(((a.v[i] >> Shift) & 15) - Zero); });
}
template <int I>
FT_INLINE V16 e4m3_of(I16 a) {
  const I16 byte = byte_of<I>(a);
  const V16 magnitude = below_normal(each_lane([&](int i) {
    return __builtin_bit_cast(float, ((byte.v[i] << 20) & kE4M3Bits) | kE4M3Exponent);
  }));
  return each_lane(
      [&](int i) { return (byte.v[i] & 0x80) != 0 ? -magnitude.v[i] : magnitude.v[i]; });
}
FT_INLINE I16 load_i8(const std::int8_t* p) {
  return each_int([=](int i) { return p[i]; });
}
struct LineBytes {
  std::uint8_t v[64];
};
template <class F>
FT_INLINE I16 each_line_byte(I16 a, F f) {
  LineBytes bytes = __builtin_bit_cast(LineBytes, a);
  for (std::uint8_t& byte : bytes.v) byte = static_cast<std::uint8_t>(f(byte));
  return __builtin_bit_cast(I16, bytes);
}
template <int Right, int Mask, int Left>
FT_INLINE I16 field(I16 a) {
  return each_line_byte(a, [](int byte) { return ((byte >> Right) & Mask) << Left; });
}
FT_INLINE I16 either(I16 a, I16 b) {
  return each_int([&](int i) { return a.v[i] | b.v[i]; });
}
FT_INLINE I16 listed(I16 a, const std::uint8_t (&table)[16]) {
  return each_line_byte(a, [&](int byte) { return table[byte]; });
}
FT_INLINE I16 bf16_pair(V16 a, V16 b) {
  return each_int([&](int i) {
    return static_cast<std::int32_t>(bf16_bits(a.v[i]) | bf16_bits(b.v[i]) << 16);
  });
}

FT_INLINE I16 int_pair(I16 a, I16 b) {
  return each_int([&](int i) { return (a.v[i] & 0xffff) + b.v[i] * 0x10000; });
}
FT_INLINE I16 dot_pairs(I16 acc, I16 a, I16 b) {
  return each_int([&](int i) {
    const auto low = [](std::int32_t pair) { return static_cast<std::int16_t>(pair & 0xffff); };
    return acc.v[i] + low(a.v[i]) * low(b.v[i]) + (a.v[i] >> 16) * (b.v[i] >> 16);
  });
}

struct Codes4 {
  std::uint8_t v[64];
};
struct Input4 {
  std::int8_t v[4];
};
using Codes8 = Codes4;
using Input8 = Input4;
FT_INLINE Codes8 codes8(const void* line) {
  Codes8 r;
  __builtin_memcpy(&r, line, sizeof r);
  return r;
}
FT_INLINE Codes4 as_codes4(I16 a) { return __builtin_bit_cast(Codes4, a); }
FT_INLINE Codes8 as_codes8(I16 a) { return __builtin_bit_cast(Codes8, a); }
FT_INLINE Codes4 low_codes(const void* line) {
  Codes4 r = codes8(line);
  for (std::uint8_t& code : r.v) code &= 15;
  return r;
}
FT_INLINE Codes4 high_codes(const void* line) {
  Codes4 r = codes8(line);
  for (std::uint8_t& code : r.v) code >>= 4;
  return r;
}
FT_INLINE I16 less_zeros(Codes4 a, I16 zeros) {
  const Codes4 less = __builtin_bit_cast(Codes4, zeros);
  for (int i = 0; i < 64; ++i) a.v[i] = static_cast<std::uint8_t>(a.v[i] - less.v[i]);
  return __builtin_bit_cast(I16, a);
}
FT_INLINE Input4 input4(std::int32_t quad) { return __builtin_bit_cast(Input4, quad); }
FT_INLINE V16 bits_to_float(I16 a) { return __builtin_bit_cast(V16, a); }
FT_INLINE I16 bits_to_int(V16 a) { return __builtin_bit_cast(I16, a); }
FT_INLINE Input8 input8(std::int32_t quad) { return input4(quad); }
FT_INLINE I16 dot(I16 acc, Codes4 w, Input4 x) {
  return each_int([&](int i) {
    std::int32_t sum = acc.v[i];
    for (int k = 0; k < 4; ++k) sum += w.v[4 * i + k] * x.v[k];
    return sum;
  });
}

#endif

}  // namespace
}  // namespace foretoken
