#pragma once
// Weights of codes widened in registers (fma_codes_kept.h) and multiplied by VDPBF16PS: the bits of
// CodedPairOrder at twice the rate, and rounded to bf16 by one instruction for two of them.
// For translation units of kernels with AVX512_BF16 only (v16.h).

#include "backend/cpu/matmul/kernels/dot_bf16.h"
#include "backend/cpu/matmul/kernels/fma_codes_kept.h"

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
// before rounding. Lanes take turns of even and odd k, so that a rounding leaves pairs side by side
// and nothing has to be moved after it; that makes registers of eight columns, of which two are
// rounded to one, and so sums whose columns are out of order.
struct PairedInt4 {
  static constexpr int kBits = 4;
};

// Where columns lie in sums: each group of four gives two to the lower half of a register, two to
// the higher one.
template <>
FT_INLINE V16 columns_in_order<PairedInt4>(V16 sums) {
  const __m512i place = _mm512_setr_epi32(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
  return {_mm512_permutexvar_ps(place, sums.v)};
}

// A line as two registers of eight columns. Each lane has even or odd k of one, in each half of it
// a byte of two codes, beside which anything may be.
struct PairedLine {
  __m512i lanes[2];

  FT_INLINE explicit PairedLine(I16 line) {
    const __m512i odd = _mm512_srli_epi16(line.v, 8);
    lanes[0] = _mm512_unpacklo_epi32(line.v, odd);
    lanes[1] = _mm512_unpackhi_epi32(line.v, odd);
  }
  // Two codes of each lane, of k that are 2 apart.
  template <int Quad>
  FT_INLINE __m512bh codes(int columns) const {
    // Bit 4 of an index is of another code.
    alignas(64) static constexpr std::uint16_t kTwice[32] = {
        0xc100, 0xc0e0, 0xc0c0, 0xc0a0, 0xc080, 0xc040, 0xc000, 0xbf80, 0x0000, 0x3f80, 0x4000,
        0x4040, 0x4080, 0x40a0, 0x40c0, 0x40e0, 0xc100, 0xc0e0, 0xc0c0, 0xc0a0, 0xc080, 0xc040,
        0xc000, 0xbf80, 0x0000, 0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0, 0x40c0, 0x40e0};
    return (__m512bh)_mm512_permutexvar_epi16(_mm512_srli_epi16(lanes[columns], Quad * 4),
                                              _mm512_load_si512(kTwice));
  }
};

template <>
struct UnitWeights<PairedInt4> {
  // Of eight columns of a half, for the lower and for the higher code of a pair.
  __m512bh scale[2][2][2];

  FT_INLINE UnitWeights(const char* unit, const CodeLayout& codes) {
    // The high halves of lanes.
    alignas(64) static constexpr std::uint16_t kColumns[2][32] = {
        {0, 0, 0, 0, 0, 1, 0, 1, 0, 4,  0, 4,  0, 5,  0, 5,
         0, 8, 0, 8, 0, 9, 0, 9, 0, 12, 0, 12, 0, 13, 0, 13},
        {0, 2,  0, 2,  0, 3,  0, 3,  0, 6,  0, 6,  0, 7,  0, 7,
         0, 10, 0, 10, 0, 11, 0, 11, 0, 14, 0, 14, 0, 15, 0, 15}};
    FT_UNROLL
    for (int v = 0; v < 2; ++v) {
      const auto* half = reinterpret_cast<const __m256i*>(unit + codes.scales_at) + v;
      const __m512i all = _mm512_castsi256_si512(_mm256_loadu_si256(half));
      FT_UNROLL
      for (int columns = 0; columns < 2; ++columns) {
        const __m512i high =
            _mm512_maskz_permutexvar_epi16(0xaaaaaaaaU, _mm512_load_si512(kColumns[columns]), all);
        scale[v][columns][0] = (__m512bh)_mm512_srli_epi32(high, 16);
        scale[v][columns][1] = (__m512bh)high;
      }
    }
  }
  // The weights of two neighbouring k of a quad, rounded; pair: of the codes looked up.
  FT_INLINE __m512bh rounded(__m512bh first, __m512bh second, int v, int pair) const {
    const __m512 none = _mm512_setzero_ps();
    return _mm512_cvtne2ps_pbh(_mm512_dpbf16_ps(none, second, scale[v][1][pair]),
                               _mm512_dpbf16_ps(none, first, scale[v][0][pair]));
  }
};

// Calls add(pair, weights) for each pair of neighbouring k of a line of both halves, in ascending
// order.
template <class Codes>
struct LinePairs {
  template <class Add>
  FT_CODED_INLINE static void each(const I16 (&line)[2], const UnitWeights<Codes>& weights,
                                   const Add& add) {
    one<0>(line, weights, add);
    one<1>(line, weights, add);
    if constexpr (Codes::kBits == 4) {
      one<2>(line, weights, add);
      one<3>(line, weights, add);
    }
  }

 private:
  template <int Pair, class Add>
  FT_CODED_INLINE static void one(const I16 (&line)[2], const UnitWeights<Codes>& weights,
                                  const Add& add) {
    __m512bh b[2];
    FT_UNROLL
    for (int v = 0; v < 2; ++v)
      b[v] = rounded_pair(weights.template unrounded<2 * Pair>(line[v], v),
                          weights.template unrounded<2 * Pair + 1>(line[v], v));
    add(Pair, b);
  }
};
template <>
struct LinePairs<PairedInt4> {
  template <class Add>
  FT_CODED_INLINE static void each(const I16 (&line)[2], const UnitWeights<PairedInt4>& weights,
                                   const Add& add) {
    const PairedLine both[2] = {PairedLine(line[0]), PairedLine(line[1])};
    two<0>(both, weights, add);
    two<1>(both, weights, add);
  }

 private:
  template <int Quad, class Add>
  FT_CODED_INLINE static void two(const PairedLine (&line)[2],
                                  const UnitWeights<PairedInt4>& weights, const Add& add) {
    __m512bh b[2][2];
    FT_UNROLL
    for (int v = 0; v < 2; ++v) {
      const __m512bh first = line[v].template codes<Quad>(0);
      const __m512bh second = line[v].template codes<Quad>(1);
      b[0][v] = weights.rounded(first, second, v, 0);
      b[1][v] = weights.rounded(first, second, v, 1);
    }
    add(2 * Quad, b[0]);
    add(2 * Quad + 1, b[1]);
  }
};

struct CodedPairDot {
  using PlainInt4 = PairedInt4;

  template <class Input, class Codes, int R>
  FT_INLINE static void add_block(const CodedBlock<Codes>& block, const char* x, const Panel& panel,
                                  V16 (&acc)[R][2]) {
    each_line<Input, Codes, Fetch::kAhead>(
        block, x, [&](const I16(&line)[2], const char* a) __attribute__((always_inline)) {
          LinePairs<Codes>::each(line, block.weights,
                                 [&](int pair, const __m512bh(&b)[2])
                                     __attribute__((always_inline)) {
                                       add_products(b, a + pair * 2 * Input::kBytes, panel, acc);
                                     });
        });
  }

 private:
  // acc += the products with a pair of k, whose input is at x.
  template <int R>
  FT_CODED_INLINE static void add_products(const __m512bh (&b)[2], const char* x,
                                           const Panel& panel, V16 (&acc)[R][2]) {
    FT_UNROLL
    for (int r = 0; r < R; ++r) {
      int pair;
      __builtin_memcpy(&pair, x + r * panel.x_row_bytes, sizeof pair);
      const auto a = (__m512bh)_mm512_set1_epi32(pair);
      FT_UNROLL
      for (int v = 0; v < 2; ++v) acc[r][v].v = _mm512_dpbf16_ps(acc[r][v].v, a, b[v]);
    }
  }
};

// ---- More rows than registers have sums for

// They share weights that are widened into L1, kBlockCols columns of so many k at a time: 16 KB,
// half of the smallest.
constexpr int kWidenedK = 256;
constexpr int kMostWidenedRows = 64;  // of a call; for more the whole block is widened first

// kBlockK of both halves to weights of bf16, columns as a kind of codes leaves them.
template <class Codes>
FT_INLINE void widen_block(const CodedBlock<Codes>& block, char* out) {
  each_line<Bf16Input, Codes, Fetch::kAhead>(
      block, out, [&](const I16(&line)[2], const char*) __attribute__((always_inline)) {
        LinePairs<Codes>::each(line, block.weights,
                               [&](int pair, const __m512bh(&b)[2]) __attribute__((always_inline)) {
                                 FT_UNROLL
                                 for (int v = 0; v < 2; ++v)
                                   _mm512_store_si512(out + v * Bf16Weights::kTileBytes + pair * 64,
                                                      (__m512i)b[v]);
                               });
        out += 16 / Codes::kBits * 64;
      });
}

// k [first, end) of the columns of a panel, multiples of kBlockK.
template <class Codes>
__attribute__((noinline)) void widen_stretch(const CodedPanel& panel, int first, int end,
                                             char* out) {
  const CodeLayout& codes = panel.codes;
  for (int k = first; k < end;) {
    const int group = k / codes.group;
    const char* const unit = panel.weights + std::int64_t{group} * codes.unit_bytes;
    const UnitWeights<Codes> weights(unit, codes);
    const int begin = group * codes.group;
    const int unit_end = begin + codes.group < end ? begin + codes.group : end;
    for (; k < unit_end; k += kBlockK, out += Bf16Weights::kTilePairBytes)
      widen_block<Codes>(coded_block(panel, unit, k - begin, weights), out);
    prefetch_scales(panel, unit);
  }
}

// All rows of a panel, at most kMostWidenedRows.
template <class Codes>
void run_widened_rows(int rows, const CodedPanel& panel) {
  alignas(64) char weights[kWidenedK / kBlockK * Bf16Weights::kTilePairBytes];
  alignas(64) float sums[kMostWidenedRows * kBlockCols];
  for (int k = 0; k < panel.k; k += kWidenedK) {
    const int end = k + kWidenedK < panel.k ? k + kWidenedK : panel.k;
    widen_stretch<Codes>(panel, k, end, weights);
    const Panel stretch = {.weights = weights,
                           .block_bytes = 0,
                           .x = panel.x + std::int64_t{k} * PairDot::kXBytes,
                           .x_row_bytes = panel.x_row_bytes,
                           .y = sums,
                           .y_stride = kBlockCols,
                           .bias = nullptr,
                           .k = end - k,
                           .cols = kBlockCols,
                           .prefetch_bytes = 0,
                           .following = nullptr,
                           .resume = k > 0};
    each_group_of_rows(rows, PairDot::kFewRows, stretch, run_rows<PairDot, PairDot::kFewRows, 2>);
  }
  Panel row = panel;
  for (int r = 0; r < rows; ++r, row.y += row.y_stride) {
    V16 sum[1][2];
    FT_UNROLL
    for (int v = 0; v < 2; ++v)
      sum[0][v] = columns_in_order<Codes>(load(sums + r * kBlockCols + v * 16));
    store_accumulators(row, sum);
  }
}

struct DotColumns {
  using PlainInt4 = PairedInt4;

  template <class Codes>
  static void run(int rows, const CodedPanel& panel) {
    if (rows <= kDotCodedRows)
      run_coded<CodedPairDot, Bf16Input, Codes, kDotCodedRows>(rows, panel);
    else
      run_widened_rows<Codes>(rows, panel);
  }
};

// Input as pack_x_bf16 leaves it.
inline void run_codes_by_dot(const GemmCall& call) {
  run_codes_widened<DotColumns>(call, call.x_stride * 2, kBlockK * 2);
}

}  // namespace
}  // namespace foretoken
