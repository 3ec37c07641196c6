#pragma once
// GEMM micro-kernels made of plain fused multiply-adds over V16: both orders of bf16 weights and
// the single chain of fp16 and float32 weights. These loops define the numbers; dot-product
// instructions reproduce them. For translation units of kernels only (v16.h).

#include "backend/cpu/matmul/kernels/bf16_weights.h"
#include "backend/cpu/matmul/kernels/fma_codes_kept.h"
#include "backend/cpu/matmul/kernels/gemm_loops.h"
#include "backend/cpu/matmul/kernels/roof_probes.h"
#include "base/index.h"

namespace foretoken {
namespace {

// One k of a pair: sum = w * x + sum.
template <class Weights, int Odd, int R, int V>
FT_INLINE void add_k(const char* w, int pair, const char* x, const Panel& panel, V16 (&sum)[R][V]) {
  V16 b[V];
  FT_UNROLL
  for (int v = 0; v < V; ++v) b[v] = Weights::template weight<V, Odd>(w, pair, v, panel);
  x += (2 * pair + Odd) * 4;
  FT_UNROLL
  for (int r = 0; r < R; ++r) {
    const V16 a = set1(*reinterpret_cast<const float*>(x + r * panel.x_row_bytes));
    FT_UNROLL
    for (int v = 0; v < V; ++v) sum[r][v] = fma(b[v], a, sum[r][v]);
  }
}

// x as the kernels below read it: rounded to bf16, kept as float32.
inline void pack_x_rounded(const PackXCall& call) {
  const std::int64_t padded = round_up(call.k, kBlockK);
  for (int row = 0; row < call.rows; ++row) {
    const float* from = call.x + row * call.k;
    float* to = static_cast<float*>(call.packed) + row * call.x_stride;
    std::int64_t i = 0;
    for (; i + 16 <= call.k; i += 16) store(to + i, round_bf16(load(from + i)));
    for (; i < padded; i += 16) {
      const std::int64_t n = call.k - i;
      store(to + i, n > 0 ? round_bf16(load_n(from + i, static_cast<int>(n))) : zero());
    }
  }
}

constexpr int kNoRowLimit = 1 << 30;

// The register block of weights that were widened before they meet many rows, which spares each
// block of rows the widening.
struct WideBlock {
  static constexpr int kManyRows = kFormRegisters == 32 ? 14 : kFormRegisters == 8 ? 6 : 1;
  static constexpr int kManyVecs = kFormRegisters == 32 ? 2 : 1;
};

// Pair order: acc = even * even + (odd * odd + acc).
template <class Weights>
struct PairChain {
  template <int R, int V>
  static __attribute__((noinline)) void run(const Panel& panel) {
    V16 acc[R][V];
    load_accumulators(panel, acc);
    const char* w = panel.weights;
    const char* x = panel.x;
    for (int k = 0; k < panel.k;
         k += kBlockK, w += Weights::template kPanelStep<V>, x += kBlockK * 4)
      for (int pair = 0; pair < kBlockK / 2; ++pair) {
        Weights::template prefetch<V>(w, pair, panel);
        add_k<Weights, 1>(w, pair, x, panel, acc);
        add_k<Weights, 0>(w, pair, x, panel, acc);
      }
    store_accumulators(panel, acc);
  }
};

struct PairOrder : Bf16Weights, PairChain<Bf16Weights> {
  static constexpr int kXBytes = 4;
  static constexpr int kFewRows = kFormRegisters == 32 ? 12 : kFormRegisters == 8 ? 2 : 1;
  static constexpr int kManyRows = kFormRegisters >= 8 ? 6 : 2;
  static constexpr int kManyVecs = kFormRegisters == 32 ? 4 : 1;
  static constexpr int kFewestWideRows = kFormRegisters >= 8 ? 49 : kNoRowLimit;

  struct Wide : WideWeights, PairChain<WideWeights>, WideBlock {};
};

// Tile order: per block of 32, acc = acc + (chain over even k + chain over odd k).
template <class Weights>
struct TileChains {
  template <int R, int V>
  static __attribute__((noinline)) void run(const Panel& panel) {
    V16 acc[R][V];
    load_accumulators(panel, acc);
    const char* w = panel.weights;
    const char* x = panel.x;
    for (int k = 0; k < panel.k;
         k += kBlockK, w += Weights::template kPanelStep<V>, x += kBlockK * 4)
      if constexpr (2 * R * V <= kMostSums)
        add_chains(w, x, panel, acc);
      else
        add_chain_by_chain(w, x, panel, acc);
    store_accumulators(panel, acc);
  }

 private:
  static constexpr int kMostSums = kFormRegisters * 5 / 8;  // beside weights and input in registers

  // Few rows: both chains in registers, every weight is read once.
  template <int R, int V>
  FT_INLINE static void add_chains(const char* w, const char* x, const Panel& panel,
                                   V16 (&acc)[R][V]) {
    V16 even[R][V], odd[R][V];
    zero_sums(even);
    zero_sums(odd);
    for (int pair = 0; pair < kBlockK / 2; ++pair, x += 8) {
      Weights::template prefetch<V>(w, pair, panel);
      FT_UNROLL
      for (int v = 0; v < V; ++v) {
        const V16 b0 = Weights::template weight<V, 0>(w, pair, v, panel);
        const V16 b1 = Weights::template weight<V, 1>(w, pair, v, panel);
        FT_UNROLL
        for (int r = 0; r < R; ++r) {
          const float* a = reinterpret_cast<const float*>(x + r * panel.x_row_bytes);
          even[r][v] = fma(b0, set1(a[0]), even[r][v]);
          odd[r][v] = fma(b1, set1(a[1]), odd[r][v]);
        }
      }
    }
    FT_UNROLL
    for (int r = 0; r < R; ++r) {
      FT_UNROLL
      for (int v = 0; v < V; ++v) acc[r][v] = add(acc[r][v], add(even[r][v], odd[r][v]));
    }
  }

  // More rows: one chain takes all registers, so that a weight that was widened meets as many rows
  // as possible; results wait in memory, once per block.
  template <int R, int V>
  FT_INLINE static void add_chain_by_chain(const char* w, const char* x, const Panel& panel,
                                           V16 (&acc)[R][V]) {
    alignas(64) float even[R][V][16];
    V16 sum[R][V];
    zero_sums(sum);
    for (int pair = 0; pair < kBlockK / 2; ++pair) {
      Weights::template prefetch_line<V>(w, pair, panel);
      add_k<Weights, 0>(w, pair, x, panel, sum);
    }
    FT_UNROLL
    for (int r = 0; r < R; ++r) {
      FT_UNROLL
      for (int v = 0; v < V; ++v) store(even[r][v], sum[r][v]);
    }
    zero_sums(sum);
    for (int pair = 0; pair < kBlockK / 2; ++pair) {
      Weights::template prefetch_line<V>(w, kBlockK / 2 + pair, panel);
      Weights::template prefetch_following<V>(w, pair, panel);
      add_k<Weights, 1>(w, pair, x, panel, sum);
    }
    FT_UNROLL
    for (int r = 0; r < R; ++r) {
      FT_UNROLL
      for (int v = 0; v < V; ++v) acc[r][v] = add(acc[r][v], add(load(even[r][v]), sum[r][v]));
    }
  }
  template <int R, int V>
  FT_INLINE static void zero_sums(V16 (&sum)[R][V]) {
    FT_UNROLL
    for (int r = 0; r < R; ++r) {
      FT_UNROLL
      for (int v = 0; v < V; ++v) sum[r][v] = zero();
    }
  }
};

struct TileOrder : Bf16Weights, TileChains<Bf16Weights> {
  static constexpr int kXBytes = 4;
  static constexpr int kFewRows = kFormRegisters == 32 ? 14 : 1;
  static constexpr int kManyRows = kFormRegisters == 32 ? 14 : kFormRegisters == 8 ? 6 : 1;
  static constexpr int kManyVecs = kFormRegisters == 32 ? 2 : 1;
  // With 32 registers a weight meets so many rows that nothing was gained.
  static constexpr int kFewestWideRows = kFormRegisters == 8 ? 49 : kNoRowLimit;

  struct Wide : WideWeights, TileChains<WideWeights>, WideBlock {};
};

// fp16 and float32 weights [N/16][K][16]: acc = w * x + acc in ascending k, x unrounded.
template <int WeightBytes>
struct OneChain {
  static constexpr int kXBytes = 4;
  static constexpr int kFewRows = kRegisters == 32 ? 12 : kRegisters == 8 ? 2 : 1;
  static constexpr int kManyRows = kRegisters >= 8 ? 6 : 2;
  static constexpr int kManyVecs = kRegisters == 32 ? 4 : 1;
  static constexpr int kStepK = PairOrder::kStepK;

  static const char* weights_at(const GemmCall& call, int col, int k) {
    return static_cast<const char*>(call.weights) + col / kChainBlockCols * call.block_bytes +
           std::int64_t{k} * kChainBlockCols * WeightBytes;
  }

  template <int R, int V>
  static __attribute__((noinline)) void run(const Panel& panel) {
    V16 acc[R][V];
    load_accumulators(panel, acc);
    const char* w = panel.weights;
    const char* x = panel.x;
    for (int k = 0; k < panel.k; ++k, w += 16 * WeightBytes, x += kXBytes) {
      V16 b[V];
      FT_UNROLL
      for (int v = 0; v < V; ++v) {
        prefetch_l1(w + v * panel.block_bytes + panel.prefetch_bytes);
        b[v] = widen(w + v * panel.block_bytes);
      }
      FT_UNROLL
      for (int r = 0; r < R; ++r) {
        const V16 a = set1(*reinterpret_cast<const float*>(x + r * panel.x_row_bytes));
        FT_UNROLL
        for (int v = 0; v < V; ++v) acc[r][v] = fma(b[v], a, acc[r][v]);
      }
    }
    store_accumulators(panel, acc);
  }

 private:
  FT_INLINE static V16 widen(const char* w) {
    if constexpr (WeightBytes == 2)
      return load_f16(reinterpret_cast<const std::uint16_t*>(w));
    else
      return load(reinterpret_cast<const float*>(w));
  }
};

template <class M>
void run_bf16(const GemmCall& call) {
  if constexpr (M::kFewestWideRows < kNoRowLimit)
    if (call.rows >= M::kFewestWideRows) return run_wide_gemm<M>(call);
  run_gemm<M>(call);
}

template <class M, class Coded>
constexpr GemmKernels bf16_gemm() {
  return {.pack_x = pack_x_rounded,
          .run = run_bf16<M>,
          .peak = fma_peak,
          .x_bytes = M::kXBytes,
          .x_row_extra = 16,
          .row_step = 1,
          .max_rows = kNoRowLimit,
          .run_codes = run_codes_on_floats<Coded>,
          .code_rows = 2 * kMostCodedRows};
}
template <int WeightBytes>
constexpr GemmKernels chain_gemm() {
  return {.pack_x = nullptr,
          .run = run_gemm<OneChain<WeightBytes>>,
          .peak = fma_peak,
          .x_bytes = 4,
          .x_row_extra = 0,
          .row_step = 1,
          .max_rows = kNoRowLimit};
}

}  // namespace
}  // namespace foretoken
