#pragma once
// 32 words of 16 bits beside V16 and I16: what turns codes into the bf16 of a tile, those of 8 bits
// by arithmetic and those of 4 by looking them up.
// For translation units of kernels only (v16.h); with AVX-512 they need its bf16 instructions.
//
//   I16 signed_bytes(p): sixteen of them
//   V16Pair e4m3_floats(p): 32 bytes of E4M3 that are not NaN as floats, times kE4M3Unit
//   each_twice<Half>(a): eight lanes of a, those of its first or second half, each in two
//   I16 bf16_words(a, b): a in the words 0 to 15, b in 16 to 31, rounded to bf16, to nearest even
//   both_first(t), both_second(t): the words 0 to 15, or 16 to 31, twice
//   words_down<Shift>(a): each word shifted right
//   look_up(t, a): word (a[i] mod 32) of t for each word a[i]
//   low_bytes(a, b), high_bytes(a, b): of the words of a and then of b
//   I16Pair look_up_bytes(table, a): for each byte a[i] the word whose low byte is number a[i] mod
//     128 of a table of bytes, and whose high one is the same of the next 128, turned by a[i]'s
//     sign; of each sixteen of a the first eight make the first words
//
// A table of codes -8 to 7 times a scale of bf16 is one of 128, by the scale's mantissa, plus the
// bits of the scale in all words but that of 0:
//
//   place_tables(scales, places): where those of 32 scales are. False if one is 0, denormal or not
//     finite, which no such table suits.
//   table_at(places, i): the i-th of them

#include "backend/cpu/simd/int_vectors.h"

namespace foretoken {
namespace {

struct V16Pair {
  V16 first, second;
};
struct I16Pair {
  I16 first, second;
};

// 1.m times -8 to 7, twice, for each m of seven bits, less the bits of 1.m.
struct ScaleTables {
  alignas(64) std::uint16_t of[128][32];
};
constexpr ScaleTables make_scale_tables() {
  ScaleTables tables = {};
  for (std::uint32_t m = 0; m < 128; ++m)
    for (int code = 0; code < 32; ++code) {
      const std::uint32_t scale = 0x3f80 + m;
      const float value =
          static_cast<float>(code % 16 - 8) * __builtin_bit_cast(float, scale << 16U);
      const auto bits = __builtin_bit_cast(std::uint32_t, value);
      tables.of[m][code] =
          static_cast<std::uint16_t>(((bits + 0x7fffU + (bits >> 16U & 1U)) >> 16U) - scale);
    }
  return tables;
}
inline constexpr ScaleTables kScaleTables = make_scale_tables();
constexpr int kBf16Exponent = 0x7f80, kBf16Mantissa = 0x7f;

struct TablePlaces {
  alignas(64) std::uint16_t bytes[32];  // to it, from the first table
  alignas(64) std::uint32_t added[32];  // the scale, twice
};

#if defined(FT_V16_AVX512)

FT_INLINE bool place_tables(const char* scales, TablePlaces& places) {
  const __m512i s = _mm512_loadu_si512(scales);
  const __m512i all_ones = _mm512_set1_epi16(kBf16Exponent);
  const __m512i exponent = _mm512_and_si512(s, all_ones);
  const __mmask32 strange = _kor_mask32(_mm512_testn_epi16_mask(exponent, exponent),
                                        _mm512_cmpeq_epi16_mask(exponent, all_ones));
  if (_kortestz_mask32_u8(strange, strange) == 0) return false;
  const __m512i mantissa = _mm512_and_si512(s, _mm512_set1_epi16(kBf16Mantissa));
  _mm512_store_si512(places.bytes, _mm512_slli_epi16(mantissa, 6));
  const auto twice = [](__m256i words) {
    const __m512i wide = _mm512_cvtepu16_epi32(words);
    return _mm512_or_si512(wide, _mm512_slli_epi32(wide, 16));
  };
  _mm512_store_si512(places.added, twice(_mm512_castsi512_si256(s)));
  _mm512_store_si512(places.added + 16, twice(_mm512_extracti64x4_epi64(s, 1)));
  return true;
}
FT_INLINE I16 table_at(const TablePlaces& places, int i) {
  constexpr __mmask32 kNotZero = ~(1U << 8U | 1U << 24U);
  const char* const table = reinterpret_cast<const char*>(kScaleTables.of) + places.bytes[i];
  return {_mm512_maskz_add_epi16(kNotZero, _mm512_set1_epi32(static_cast<int>(places.added[i])),
                                 _mm512_load_si512(table))};
}
FT_INLINE __m128i sixteen_bytes(const char* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
FT_INLINE I16 signed_bytes(const char* p) { return {_mm512_cvtepi8_epi32(sixteen_bytes(p))}; }
// Half floats have the exponents of E4M3, and room below for its denormals.
FT_INLINE V16Pair e4m3_floats(const char* p) {
  const __m512i bytes =
      _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  const __m512i halfs =
      _mm512_and_si512(_mm512_slli_epi16(bytes, 7), _mm512_set1_epi16(static_cast<short>(0xbfff)));
  return {{_mm512_cvtph_ps(_mm512_castsi512_si256(halfs))},
          {_mm512_cvtph_ps(_mm512_extracti64x4_epi64(halfs, 1))}};
}
template <int Half>
FT_INLINE V16 each_twice(V16 a) {
  const __m512i first = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
  return {_mm512_permutexvar_ps(_mm512_add_epi32(first, _mm512_set1_epi32(8 * Half)), a.v)};
}
FT_INLINE I16 bf16_words(V16 a, V16 b) { return {(__m512i)_mm512_cvtne2ps_pbh(b.v, a.v)}; }
FT_INLINE I16 both_first(I16 t) { return {_mm512_shuffle_i64x2(t.v, t.v, 0x44)}; }
FT_INLINE I16 both_second(I16 t) { return {_mm512_shuffle_i64x2(t.v, t.v, 0xee)}; }
// By a product, because shifts share a port with permutations.
template <int Shift>
FT_INLINE I16 words_down(I16 a) {
  return {_mm512_mulhi_epu16(a.v, _mm512_set1_epi16(static_cast<short>(1 << (16 - Shift))))};
}
FT_INLINE I16 look_up(I16 table, I16 a) { return {_mm512_permutexvar_epi16(a.v, table.v)}; }
struct EvenBytes {
  alignas(64) std::uint8_t of[64];
};
constexpr EvenBytes make_even_bytes() {
  EvenBytes bytes = {};
  for (int i = 0; i < 64; ++i) bytes.of[i] = static_cast<std::uint8_t>(2 * i);
  return bytes;
}
inline constexpr EvenBytes kEvenBytes = make_even_bytes();
FT_INLINE I16 low_bytes(I16 a, I16 b) {
  return {_mm512_permutex2var_epi8(a.v, _mm512_load_si512(kEvenBytes.of), b.v)};
}
FT_INLINE I16 high_bytes(I16 a, I16 b) {
  return low_bytes({_mm512_srli_epi16(a.v, 8)}, {_mm512_srli_epi16(b.v, 8)});
}
FT_INLINE I16Pair look_up_bytes(const char* table, I16 a) {
  constexpr int kFirstWithSignOfOthers = 0x78;  // first ^ (second & third)
  const auto part = [=](int i) { return _mm512_load_si512(table + 64 * i); };
  const __m512i low = _mm512_permutex2var_epi8(part(0), a.v, part(1));
  const __m512i high =
      _mm512_ternarylogic_epi64(_mm512_permutex2var_epi8(part(2), a.v, part(3)), a.v,
                                _mm512_set1_epi8(-128), kFirstWithSignOfOthers);
  return {{_mm512_unpacklo_epi8(low, high)}, {_mm512_unpackhi_epi8(low, high)}};
}

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
FT_INLINE bool place_tables(const char* scales, TablePlaces& places) {
  bool all_suit = true;
  for (int i = 0; i < 32; ++i) {
    std::uint16_t s;
    __builtin_memcpy(&s, scales + 2 * i, sizeof s);
    const int exponent = s & kBf16Exponent;
    all_suit = all_suit && exponent != 0 && exponent != kBf16Exponent;
    places.bytes[i] = static_cast<std::uint16_t>((s & kBf16Mantissa) * sizeof kScaleTables.of[0]);
    places.added[i] = s * 0x10001U;
  }
  return all_suit;
}
FT_INLINE I16 table_at(const TablePlaces& places, int i) {
  const auto* const table = kScaleTables.of[places.bytes[i] / sizeof kScaleTables.of[0]];
  const std::uint32_t added = places.added[i];
  return each_word([=](int word) {
    return static_cast<std::uint16_t>(word % 16 == 8 ? 0 : table[word] + added);
  });
}
FT_INLINE I16 signed_bytes(const char* p) {
  return each_int([=](int i) { return static_cast<std::int8_t>(p[i]); });
}
FT_INLINE V16Pair e4m3_floats(const char* p) {
  const auto sixteen = [](const char* from) {
    return e4m3_of<0>(each_int([=](int i) { return static_cast<std::uint8_t>(from[i]); }));
  };
  return {sixteen(p), sixteen(p + 16)};
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
struct Bytes64 {
  std::uint8_t v[64];
};
template <class F>
FT_INLINE I16 each_byte(F f) {
  Bytes64 r;
  for (int i = 0; i < 64; ++i) r.v[i] = static_cast<std::uint8_t>(f(i));
  return __builtin_bit_cast(I16, r);
}
FT_INLINE std::uint8_t byte_at(I16 a, int i) { return __builtin_bit_cast(Bytes64, a).v[i]; }
FT_INLINE I16 low_bytes(I16 a, I16 b) {
  return each_byte([=](int i) { return byte_at(i < 32 ? a : b, i % 32 * 2); });
}
FT_INLINE I16 high_bytes(I16 a, I16 b) {
  return each_byte([=](int i) { return byte_at(i < 32 ? a : b, i % 32 * 2 + 1); });
}
FT_INLINE I16Pair look_up_bytes(const char* table, I16 a) {
  const auto words = [=](int second) {
    return each_word([=](int i) {
      const int byte = byte_at(a, i / 8 * 16 + second * 8 + i % 8), number = byte % 128;
      const int low = static_cast<std::uint8_t>(table[number]);
      const int high = static_cast<std::uint8_t>(table[128 + number]) ^ (byte - number);
      return static_cast<std::uint16_t>(low + 256 * high);
    });
  };
  return {words(0), words(1)};
}

#endif

}  // namespace
}  // namespace foretoken
