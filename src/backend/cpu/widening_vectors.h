#pragma once
// 32 words of 16 bits beside V16 and I16: what turns codes into the bf16 of a tile, those of 8 bits
// by arithmetic and those of 4 by looking them up.
// For translation units of kernels only (v16.h); with AVX-512 they need its bf16 instructions.
//
//   I16 signed_bytes(p), unsigned_bytes(p): sixteen of them
//   each_twice<Half>(a): eight lanes of a, those of its first or second half, each in two
//   I16 bf16_words(a, b): a in the words 0 to 15, b in 16 to 31, rounded to bf16, to nearest even
//   both_first(t), both_second(t): the words 0 to 15, or 16 to 31, twice
//   words_down<Shift>(a): each word shifted right
//   look_up(t, a): word (a[i] mod 32) of t for each word a[i]
//
// A table of codes -8 to 7 times a scale of bf16 is one of 128, by the scale's mantissa, with the
// scale's exponent and sign added to all words but that of 0:
//
//   place_tables(scales, places): which table, and what is added, for each of 32 scales
//   moved_table(table, added): that table

#include "backend/cpu/int_vectors.h"

namespace foretoken {
namespace {

// 1.m times -8 to 7, twice, for each m of seven bits; then what a scale of 0 makes, or a denormal
// one, and one that is not finite.
constexpr int kZeroTable = 128, kNanTable = 129;
struct ScaleTables {
  alignas(64) std::uint16_t of[130][32];
};
constexpr ScaleTables make_scale_tables() {
  ScaleTables tables = {};
  for (std::uint32_t m = 0; m < 128; ++m)
    for (int code = 0; code < 32; ++code) {
      const float scale = __builtin_bit_cast(float, 0x3f800000U | m << 16U);
      const float value = static_cast<float>(code % 16 - 8) * scale;
      const auto bits = __builtin_bit_cast(std::uint32_t, value);
      tables.of[m][code] = static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16U & 1U)) >> 16U);
    }
  for (std::uint16_t& word : tables.of[kNanTable]) word = 0x7fc0;
  return tables;
}
inline constexpr ScaleTables kScaleTables = make_scale_tables();
constexpr int kBf16One = 0x3f80;  // what the tables' scales have above their mantissa

struct TablePlaces {
  alignas(64) std::uint16_t table[32];
  alignas(64) std::int32_t added[32];  // twice 16 bits
};

#if defined(FT_V16_AVX512)

FT_INLINE void place_tables(const char* scales, TablePlaces& places) {
  const __m512i s = _mm512_loadu_si512(scales);
  const __m512i exponent = _mm512_and_si512(s, _mm512_set1_epi16(0x7f80));
  const __mmask32 is_zero = _mm512_testn_epi16_mask(exponent, exponent);
  const __mmask32 is_nan = _mm512_cmpeq_epi16_mask(exponent, _mm512_set1_epi16(0x7f80));
  __m512i table = _mm512_and_si512(s, _mm512_set1_epi16(0x7f));
  table = _mm512_mask_mov_epi16(table, is_zero, _mm512_set1_epi16(kZeroTable));
  table = _mm512_mask_mov_epi16(table, is_nan, _mm512_set1_epi16(kNanTable));
  _mm512_store_si512(places.table, table);
  const __m512i added =
      _mm512_maskz_sub_epi16(_knot_mask32(_kor_mask32(is_zero, is_nan)),
                             _mm512_and_si512(s, _mm512_set1_epi16(static_cast<short>(0xff80))),
                             _mm512_set1_epi16(kBf16One));
  const auto twice = [](__m256i words) {
    const __m512i wide = _mm512_cvtepu16_epi32(words);
    return _mm512_or_si512(wide, _mm512_slli_epi32(wide, 16));
  };
  _mm512_store_si512(places.added, twice(_mm512_castsi512_si256(added)));
  _mm512_store_si512(places.added + 16, twice(_mm512_extracti64x4_epi64(added, 1)));
}
FT_INLINE I16 moved_table(int table, std::int32_t added) {
  constexpr __mmask32 kNotZero = ~(1U << 8U | 1U << 24U);
  const __m512i from = _mm512_load_si512(kScaleTables.of[table]);
  return {_mm512_mask_add_epi16(from, kNotZero, from, _mm512_set1_epi32(added))};
}
FT_INLINE __m128i sixteen_bytes(const char* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
FT_INLINE I16 signed_bytes(const char* p) { return {_mm512_cvtepi8_epi32(sixteen_bytes(p))}; }
FT_INLINE I16 unsigned_bytes(const char* p) { return {_mm512_cvtepu8_epi32(sixteen_bytes(p))}; }
template <int Half>
FT_INLINE V16 each_twice(V16 a) {
  const __m512i first = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
  return {_mm512_permutexvar_ps(_mm512_add_epi32(first, _mm512_set1_epi32(8 * Half)), a.v)};
}
FT_INLINE I16 bf16_words(V16 a, V16 b) { return {(__m512i)_mm512_cvtne2ps_pbh(b.v, a.v)}; }
FT_INLINE I16 both_first(I16 t) { return {_mm512_shuffle_i64x2(t.v, t.v, 0x44)}; }
FT_INLINE I16 both_second(I16 t) { return {_mm512_shuffle_i64x2(t.v, t.v, 0xee)}; }
template <int Shift>
FT_INLINE I16 words_down(I16 a) {
  return {_mm512_srli_epi16(a.v, Shift)};
}
FT_INLINE I16 look_up(I16 table, I16 a) { return {_mm512_permutexvar_epi16(a.v, table.v)}; }

#else  // the definition

struct Words {
  std::uint16_t v[32];
};
template <class F>
FT_INLINE I16 each_word(F f) {
  Words r;
  for (int i = 0; i < 32; ++i) r.v[i] = f(i);
  return __builtin_bit_cast(I16, r);
}
FT_INLINE void place_tables(const char* scales, TablePlaces& places) {
  for (int i = 0; i < 32; ++i) {
    std::uint16_t s;
    __builtin_memcpy(&s, scales + 2 * i, sizeof s);
    const int exponent = s & 0x7f80;
    const bool moves = exponent != 0 && exponent != 0x7f80;
    places.table[i] = static_cast<std::uint16_t>(moves           ? s & 0x7f
                                                 : exponent == 0 ? kZeroTable
                                                                 : kNanTable);
    const int added = moves ? ((s & 0xff80) - kBf16One) & 0xffff : 0;
    places.added[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(added) * 0x10001U);
  }
}
FT_INLINE I16 moved_table(int table, std::int32_t added) {
  return each_word([=](int i) {
    const std::uint16_t word = kScaleTables.of[table][i];
    return static_cast<std::uint16_t>(i % 16 == 8 ? word : word + added);
  });
}
FT_INLINE I16 signed_bytes(const char* p) {
  return each_int([=](int i) { return static_cast<std::int8_t>(p[i]); });
}
FT_INLINE I16 unsigned_bytes(const char* p) {
  return each_int([=](int i) { return static_cast<std::uint8_t>(p[i]); });
}
template <int Half>
FT_INLINE V16 each_twice(V16 a) {
  return each_lane([&](int i) { return a.v[8 * Half + i / 2]; });
}
FT_INLINE I16 bf16_words(V16 a, V16 b) {
  Words r;
  store_bf16(r.v, a);
  store_bf16(r.v + 16, b);
  return __builtin_bit_cast(I16, r);
}
FT_INLINE I16 both_first(I16 t) {
  return each_word([=](int i) { return __builtin_bit_cast(Words, t).v[i % 16]; });
}
FT_INLINE I16 both_second(I16 t) {
  return each_word([=](int i) { return __builtin_bit_cast(Words, t).v[i % 16 + 16]; });
}
template <int Shift>
FT_INLINE I16 words_down(I16 a) {
  return each_word([=](int i) {
    return static_cast<std::uint16_t>(__builtin_bit_cast(Words, a).v[i] >> Shift);
  });
}
FT_INLINE I16 look_up(I16 table, I16 a) {
  return each_word([=](int i) {
    return __builtin_bit_cast(Words, table).v[__builtin_bit_cast(Words, a).v[i] % 32];
  });
}

#endif

}  // namespace
}  // namespace foretoken
