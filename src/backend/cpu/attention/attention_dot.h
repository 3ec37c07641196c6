#pragma once
// Lines of KV of bf16 in pair order by VDPBF16PS: the bits of PairLines in attention_bf16.h at
// twice the rate. For translation units of kernels with AVX512_BF16 only (v16.h).

#include "backend/cpu/attention/attention_bf16.h"

namespace foretoken {
namespace {

struct DotLines {
  using A = std::uint16_t;
  static constexpr int kRows = 12, kVecs = 2;

  static FT_INLINE void put(A* to, V16 a) { store_bf16(to, a); }
  static FT_INLINE void put_weights(A* to, V16 a) { store_bf16(to, a); }

  template <int R, int V, typename Lines>
  static __attribute__((noinline)) void run(const Products<A>& p, const Lines& lines) {
    V16 sum[R][V];
    load_sums(p, sum);
    for (int pair = p.first; pair < p.end; ++pair) {
      lines.prefetch(pair);
      __m512bh b[V];
      FT_UNROLL
      for (int v = 0; v < V; ++v) b[v] = (__m512bh)_mm512_loadu_si512(lines.at(pair, v));
      FT_UNROLL
      for (int r = 0; r < R; ++r) {
        int both;
        __builtin_memcpy(&both, p.a + r * p.a_stride + pair * 2, sizeof both);
        const __m512bh a = (__m512bh)_mm512_set1_epi32(both);
        FT_UNROLL
        for (int v = 0; v < V; ++v) sum[r][v].v = _mm512_dpbf16_ps(sum[r][v].v, a, b[v]);
      }
    }
    store_sums(p, sum);
  }
};

}  // namespace
}  // namespace foretoken
