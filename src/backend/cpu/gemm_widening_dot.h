#pragma once
// Weights of codes widened in registers (gemm_widening.h) and multiplied by VDPBF16PS: the bits of
// CodedPairOrder at twice the rate, and rounded to bf16 by one instruction for two of them.
// For translation units of kernels with AVX512_BF16 only (v16.h).

#include "backend/cpu/gemm_widening.h"

namespace foretoken {
namespace {

// Rows that share a widened weight.
constexpr int kDotCodedRows = kMostCodedRows;

// even in the low half of each lane, odd in the high one, both rounded to bf16.
FT_INLINE __m512bh rounded_pair(V16 even, V16 odd) {
  alignas(64) static constexpr std::uint16_t kSideBySide[32] = {
      0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
      8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const auto one_after_other = (__m512i)_mm512_cvtne2ps_pbh(odd.v, even.v);
  return (__m512bh)_mm512_permutexvar_epi16(_mm512_load_si512(kSideBySide), one_after_other);
}

// Codes of 4 bits that have no zero points and scales of bf16: two of an output are looked up at
// once, as a pair of bf16 less 8, and VDPBF16PS by (scale, 0) or (0, scale) gives either's weight
// before rounding.
struct PairedInt4 {
  static constexpr int kBits = 4;
  // Codes K and K + 2 of a line.
  template <int K>
  FT_INLINE static __m512bh pair_of(I16 line) {
    // Bit 4 of an index is of the next code.
    alignas(64) static constexpr std::uint16_t kTwice[32] = {
        0xc100, 0xc0e0, 0xc0c0, 0xc0a0, 0xc080, 0xc040, 0xc000, 0xbf80, 0x0000, 0x3f80, 0x4000,
        0x4040, 0x4080, 0x40a0, 0x40c0, 0x40e0, 0xc100, 0xc0e0, 0xc0c0, 0xc0a0, 0xc080, 0xc040,
        0xc000, 0xbf80, 0x0000, 0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0, 0x40c0, 0x40e0};
    return (__m512bh)_mm512_permutexvar_epi16(_mm512_srli_epi16(line.v, Int4Codes::shift_of(K)),
                                              _mm512_load_si512(kTwice));
  }
};
template <>
struct UnitWeights<PairedInt4> {
  __m512bh scale[2][2];  // of the lower and of the higher code of a pair

  FT_INLINE UnitWeights(const char* unit, const CodeLayout& codes) {
    FT_UNROLL
    for (int v = 0; v < 2; ++v) {
      const __m512i bits =
          _mm512_castps_si512(load_scales(unit + codes.scales_at, CodeScale::kBF16, v).v);
      scale[v][0] = (__m512bh)_mm512_srli_epi32(bits, 16);
      scale[v][1] = (__m512bh)bits;
    }
  }
  template <int K>
  FT_INLINE V16 unrounded(I16 line, int v) const {
    constexpr int kLower = K & ~2;  // of the pair that K is in
    const __m512bh pair = PairedInt4::pair_of<kLower>(line);
    return {_mm512_dpbf16_ps(_mm512_setzero_ps(), pair, scale[v][kLower == K ? 0 : 1])};
  }
};

struct CodedPairDot {
  using PlainInt4 = PairedInt4;

  template <class Input, class Codes, int R>
  FT_INLINE static void add_block(const CodedBlock<Codes>& block, const char* x, const Panel& panel,
                                  V16 (&acc)[R][2]) {
    each_line<Input, Codes, true>(
        block, x, [&](const I16(&line)[2], const char* a) __attribute__((always_inline)) {
          add_pair<Codes, 0>(line, block, a, panel, acc);
          add_pair<Codes, 2>(line, block, a, panel, acc);
          if constexpr (Codes::kBits == 4) {
            add_pair<Codes, 4>(line, block, a, panel, acc);
            add_pair<Codes, 6>(line, block, a, panel, acc);
          }
        });
  }

 private:
  // acc += the products with codes K and K + 1 of a line, whose input is at x.
  template <class Codes, int K, int R>
  FT_CODED_INLINE static void add_pair(const I16 (&line)[2], const CodedBlock<Codes>& block,
                                       const char* x, const Panel& panel, V16 (&acc)[R][2]) {
    __m512bh b[2];
    FT_UNROLL
    for (int v = 0; v < 2; ++v)
      b[v] = rounded_pair(block.weights.template unrounded<K>(line[v], v),
                          block.weights.template unrounded<K + 1>(line[v], v));
    FT_UNROLL
    for (int r = 0; r < R; ++r) {
      int pair;
      __builtin_memcpy(&pair, x + r * panel.x_row_bytes + K * 2, sizeof pair);
      const auto a = (__m512bh)_mm512_set1_epi32(pair);
      FT_UNROLL
      for (int v = 0; v < 2; ++v) acc[r][v].v = _mm512_dpbf16_ps(acc[r][v].v, a, b[v]);
    }
  }
};

// Input as pack_x_bf16 leaves it.
inline void run_codes_by_dot(const GemmCall& call) {
  run_codes_widened<CodedPairDot, Bf16Input, kDotCodedRows>(call, call.x_stride * 2, kBlockK * 2);
}

}  // namespace
}  // namespace foretoken
