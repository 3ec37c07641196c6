#pragma once
// The random words behind the noise of sixty-four tokens, for each width of vectors: Philox (see
// base/rng.h) of sixteen counters, a counter in each 64-bit lane, because it multiplies 32 by 32
// bits to 64. Nearly always no word is great enough to matter, so that is all that is found out
// fast. Written out by instruction: compilers widen and narrow what can stay wide. Pure functions.

#include <array>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/philox_lanes.h"
#include "base/rng.h"

namespace foretoken {

// Whether any word of noise_words_block() reaches `lowest`; if so, they are put into
// words[kNoiseBlock].
inline bool noise_words_baseline(std::uint64_t seed, std::int64_t position, std::int32_t first,
                                 std::uint32_t lowest, std::uint32_t* words) {
  philox_lanes(noise_counter(position, first), seed, words);
  std::uint32_t any = 0;
  for (int i = 0; i < kNoiseBlock; ++i) any |= words[i] >= lowest ? 1U : 0U;
  return any != 0;
}

#if defined(__x86_64__)

// What lies above the lower halves of the lanes of c0 to c3 is never looked at.
__attribute__((target("avx2,fma"))) inline bool noise_words_avx2(std::uint64_t seed,
                                                                 std::int64_t position,
                                                                 std::int32_t first,
                                                                 std::uint32_t lowest,
                                                                 std::uint32_t* words) {
  const auto start = noise_counter(position, first);
  const __m256i mul0 = _mm256_set1_epi64x(kPhiloxMul0), mul1 = _mm256_set1_epi64x(kPhiloxMul1);
  const __m256i least = _mm256_set1_epi32(static_cast<int>(lowest));
  __m256i any = _mm256_setzero_si256();
  for (int half = 0; half < 2; ++half) {  // two vectors of four counters at a time
    const __m256i from = _mm256_set1_epi64x(std::int64_t{start[0]} + half * 8);
    __m256i c0[2] = {_mm256_add_epi64(from, _mm256_setr_epi64x(0, 1, 2, 3)),
                     _mm256_add_epi64(from, _mm256_setr_epi64x(4, 5, 6, 7))};
    __m256i c1[2], c2[2], c3[2];
    for (int v = 0; v < 2; ++v) {
      c1[v] = _mm256_set1_epi64x(start[1]);
      c2[v] = _mm256_set1_epi64x(start[2]);
      c3[v] = _mm256_set1_epi64x(start[3]);
    }
    auto k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32U);
    for (int round = 0; round < 10; ++round) {
      const __m256i key0 = _mm256_set1_epi64x(k0), key1 = _mm256_set1_epi64x(k1);
      for (int v = 0; v < 2; ++v) {
        const __m256i p0 = _mm256_mul_epu32(c0[v], mul0), p1 = _mm256_mul_epu32(c2[v], mul1);
        c0[v] = _mm256_xor_si256(_mm256_srli_epi64(p1, 32), _mm256_xor_si256(c1[v], key0));
        c1[v] = p1;
        c2[v] = _mm256_xor_si256(_mm256_srli_epi64(p0, 32), _mm256_xor_si256(c3[v], key1));
        c3[v] = p0;
      }
      k0 += kPhiloxWeyl0;
      k1 += kPhiloxWeyl1;
    }
    for (int v = 0; v < 2; ++v)
      for (const __m256i c : {c0[v], c1[v], c2[v], c3[v]})
        any = _mm256_or_si256(any, _mm256_cmpeq_epi32(_mm256_max_epu32(c, least), c));
  }
  const __m256i lower_halves = _mm256_set1_epi64x(0xffffffff);
  if (_mm256_testz_si256(any, lower_halves) != 0) return false;
  philox_lanes(start, seed, words);
  return true;
}

__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"))) inline bool
noise_words_avx512(std::uint64_t seed, std::int64_t position, std::int32_t first,
                   std::uint32_t lowest, std::uint32_t* words) {
  constexpr int kXor3 = 0x96;
  const auto start = noise_counter(position, first);
  const __m512i mul0 = _mm512_set1_epi64(kPhiloxMul0), mul1 = _mm512_set1_epi64(kPhiloxMul1);
  const __m512i from = _mm512_set1_epi64(start[0]);
  __m512i c0[2] = {_mm512_add_epi64(from, _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7)),
                   _mm512_add_epi64(from, _mm512_setr_epi64(8, 9, 10, 11, 12, 13, 14, 15))};
  __m512i c1[2], c2[2], c3[2];
  for (int v = 0; v < 2; ++v) {
    c1[v] = _mm512_set1_epi64(start[1]);
    c2[v] = _mm512_set1_epi64(start[2]);
    c3[v] = _mm512_set1_epi64(start[3]);
  }
  auto k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32U);
  for (int round = 0; round < 10; ++round) {
    const __m512i key0 = _mm512_set1_epi64(k0), key1 = _mm512_set1_epi64(k1);
    for (int v = 0; v < 2; ++v) {
      const __m512i p0 = _mm512_mul_epu32(c0[v], mul0), p1 = _mm512_mul_epu32(c2[v], mul1);
      c0[v] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p1, 32), c1[v], key0, kXor3);
      c1[v] = p1;
      c2[v] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p0, 32), c3[v], key1, kXor3);
      c3[v] = p0;
    }
    k0 += kPhiloxWeyl0;
    k1 += kPhiloxWeyl1;
  }
  const __m512i least = _mm512_set1_epi32(static_cast<int>(lowest));
  unsigned any = 0;
  for (int v = 0; v < 2; ++v)
    for (const __m512i c : {c0[v], c1[v], c2[v], c3[v]})
      any |= static_cast<unsigned>(_mm512_cmpge_epu32_mask(c, least));
  constexpr unsigned kLowerHalves = 0x5555;
  if ((any & kLowerHalves) == 0) return false;
  philox_lanes(start, seed, words);
  return true;
}

#endif  // __x86_64__

}  // namespace foretoken
