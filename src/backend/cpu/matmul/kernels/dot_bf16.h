#pragma once
// The pair order by VDPBF16PS, which computes fma(even, even, fma(odd, odd, acc)) with denormals
// flushed: the bits of PairOrder in fma_bf16.h at twice the rate.
// For translation units of kernels with AVX512_BF16 only (v16.h).

#include "backend/cpu/matmul/kernels/bf16_input.h"
#include "backend/cpu/matmul/kernels/bf16_weights.h"
#include "backend/cpu/matmul/kernels/gemm_loops.h"
#include "backend/cpu/matmul/kernels/roof_probes.h"
#include "base/index.h"

namespace foretoken {
namespace {

struct PairDot : Bf16Weights {
  static constexpr int kXBytes = 2;
  // Always two vectors: of a cache, whose pace is the limit of many rows, tall blocks ask for a
  // third less than those of 6 rows and four vectors.
  static constexpr int kFewRows = 12;
  static constexpr int kManyRows = kFewRows, kManyVecs = 2;
  static constexpr int kStepK = 2048;  // of 32 columns: 128 KB, an eighth of the smallest L2

  template <int R, int V>
  static __attribute__((noinline)) void run(const Panel& panel) {
    V16 acc[R][V];
    load_accumulators(panel, acc);
    const char* w = panel.weights;
    const char* x = panel.x;
    for (int k = 0; k < panel.k; k += kBlockK, w += kTilePairBytes, x += kBlockK * kXBytes) {
      for (int pair = 0; pair < kBlockK / 2; ++pair) {
        prefetch<V>(w, pair, panel);
        step(w + pair * 64, x + pair * 4, panel, acc);
      }
    }
    store_accumulators(panel, acc);
  }

 private:
  template <int R, int V>
  FT_INLINE static void step(const char* w, const char* x, const Panel& panel, V16 (&acc)[R][V]) {
    __m512bh b[V];
    FT_UNROLL
    for (int v = 0; v < V; ++v) b[v] = (__m512bh)_mm512_loadu_si512(w + vec_offset(panel, v));
    FT_UNROLL
    for (int r = 0; r < R; ++r) {
      int pair;
      __builtin_memcpy(&pair, x + r * panel.x_row_bytes, 4);
      const __m512bh a = (__m512bh)_mm512_set1_epi32(pair);
      FT_UNROLL
      for (int v = 0; v < V; ++v) acc[r][v].v = _mm512_dpbf16_ps(acc[r][v].v, a, b[v]);
    }
  }
};

inline double dot_peak(int rounds) {
  constexpr int kChains = 16;
  V16 acc[kChains];
  FT_UNROLL
  for (int i = 0; i < kChains; ++i) acc[i] = zero();
  const __m512bh a = (__m512bh)_mm512_set1_epi32(0x3f803f80);
  for (int round = 0; round < rounds; ++round) {
    FT_UNROLL
    for (int i = 0; i < kChains; ++i) {
      acc[i].v = _mm512_dpbf16_ps(acc[i].v, a, a);
      keep(acc[i]);
    }
  }
  return rounds * double{kChains} * 64;
}

}  // namespace
}  // namespace foretoken
