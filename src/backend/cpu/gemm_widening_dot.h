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

struct CodedPairDot {
  using PlainInt4 = Int4Codes;  // rounding is no product that could be saved

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
      b[v] = rounded_pair(block.weights.unrounded(Codes::template of<K>(line[v]), v),
                          block.weights.unrounded(Codes::template of<K + 1>(line[v]), v));
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
