#pragma once
// The loops around a GEMM micro-kernel, shared by all vector kernels: K blocks, columns, row
// groups. Here is the table of this folder; each cell is a file, _kept: codes that meet the input
// as bf16, _rounded: codes whose input is rounded to codes, too.
//
//   instruction (isa/)         bf16 weights   codes, kept            codes, rounded
//   FMA (scalar, avx2,         fma_bf16.h,    fma_codes_kept.h       dot_codes_rounded.h, with the
//        avx512)               fp16, f32, too                        sums of simd/int_vectors.h
//   dot (avx512_bf16 for bf16, dot_bf16.h     dot_codes_kept.h       dot_codes_rounded.h
//        avx_vnni, avx512_vnni
//        for bytes)
//   tiles (amx)                tiles_bf16.h   tiles_int4_kept.h,     tiles_int8_rounded.h,
//                                             tiles_int8_kept.h,     tiles_int4_rounded.h
//                                             tiles_fp8_kept.h,
//                                             over tiles_codes_kept.h
//
// Shared by a row or a column: bf16_input.h, bf16_weights.h and code_weights.h (reading packed
// weights), roof_probes.h (what the registers alone reach).
//
// A micro-kernel M computes R rows x V vectors of 16 outputs over some K and defines
//   run<R, V>(panel)
//   kFewRows               most rows with V = 2; so few rows read each weight once, in one stream
//   kManyRows, kManyVecs   register block for more rows
//   kStepK                 K between two spills of such a block, usually
//   kXBytes                bytes per element of packed x
//   weights_at(call, col, k)  the weights of 16 columns from K index k on
//   Wide                   for run_wide_gemm: the kernel of weights that were widened, with
//                          kManyRows, kManyVecs and widen<V>(weights, k, floats)
// Memory is read at an even pace: a single group of rows asks for its weights ahead of itself, of
// several each asks for a part of the panel that follows, so that the first does not wait for
// memory while the others only compute.
// K blocks spill accumulators to y, which is float32 as they are, and so leave the bits alone.
// For translation units of kernels only (v16.h).

#include "backend/cpu/simd/v16.h"
#include "backend/cpu/table/kernels.h"
#include "base/index.h"

namespace foretoken {
namespace {

// One call of a micro-kernel.
struct Panel {
  const char* weights;
  std::int64_t block_bytes;  // between blocks of columns
  const char* x;
  std::int64_t x_row_bytes;
  float* y;
  std::int64_t y_stride;
  const float* bias;  // added after the last K block, else null
  int k;
  int cols;
  int prefetch_bytes;
  const char* following;  // weights that are asked for meanwhile, half as fast as these; or null
  bool resume;            // y holds the accumulators of the K blocks before this one
};

constexpr int kPrefetchBytes = 6144;  // how far ahead of a stream of weights

// How many of `cols` columns lie in vector v.
FT_INLINE int lanes_in(int cols, int v) {
  const int left = cols - v * 16;
  return left >= 16 ? 16 : left < 0 ? 0 : left;
}
// n <= 16 columns.
FT_INLINE V16 load_columns(const float* from, int n) {
  return n == 16 ? load(from) : load_n(from, n);
}
FT_INLINE void store_columns(float* to, V16 a, int n) {
  if (n == 16)
    store(to, a);
  else
    store_n(to, a, n);
}

// The result of a panel of any kind: y, y_stride, cols, bias, resume.
template <class P, int R, int V>
FT_INLINE void load_accumulators(const P& panel, V16 (&acc)[R][V]) {
  FT_UNROLL
  for (int r = 0; r < R; ++r) {
    FT_UNROLL
    for (int v = 0; v < V; ++v) {
      const float* y = panel.y + r * panel.y_stride + v * 16;
      acc[r][v] = panel.resume ? load_columns(y, lanes_in(panel.cols, v)) : zero();
    }
  }
}

template <class P, int R, int V>
FT_INLINE void store_accumulators(const P& panel, const V16 (&acc)[R][V]) {
  FT_UNROLL
  for (int r = 0; r < R; ++r) {
    FT_UNROLL
    for (int v = 0; v < V; ++v) {
      const V16 a = panel.bias == nullptr ? acc[r][v] : add(acc[r][v], load(panel.bias + v * 16));
      store_columns(panel.y + r * panel.y_stride + v * 16, a, lanes_in(panel.cols, v));
    }
  }
}

// Divides rows into as few groups as possible, each of at most `most` rows. Sizes differ by one.
struct RowGroups {
  constexpr RowGroups(int rows, int most)
      : count(ceil_div(rows, most)), least(rows / count), tall(rows % count) {}
  constexpr int rows(int group) const { return least + (group < tall ? 1 : 0); }

  int count;
  int least;  // rows of a group
  int tall;   // groups that have one row more
};

// M::run<rows, V> for rows known at run time, 1 <= rows <= R.
template <class M, int R, int V>
void run_rows(int rows, const Panel& panel) {
  if (rows == R) return M::template run<R, V>(panel);
  if constexpr (R > 1) run_rows<M, R - 1, V>(rows, panel);
}

// The columns of `panel` (at most V vectors), all rows of the call in groups of nearly equal size.
template <class M, int R, int V>
void run_groups(const GemmCall& call, Panel panel) {
  const RowGroups groups(call.rows, R);
  const char* const following = panel.following;
  const std::int64_t half = M::weights_at(call, 0, panel.k / 2) - M::weights_at(call, 0, 0);
  for (int g = 0; g < groups.count; ++g) {
    const int rows = groups.rows(g);
    panel.following = groups.count > 1 && V > 1 ? following + g % 2 * half : nullptr;
    run_rows<M, R, V>(rows, panel);
    panel.x += rows * panel.x_row_bytes;
    panel.y += rows * panel.y_stride;
  }
}

// use(panel) for each stretch of k_block k and of so many columns.
template <class M, class Use>
void each_panel(const GemmCall& call, int k_block, int cols, const Use& use) {
  for (int k = 0; k < call.k; k += k_block) {
    const bool last = k + k_block >= call.k;
    Panel panel = {.weights = nullptr,
                   .block_bytes = call.block_bytes,
                   .x = static_cast<const char*>(call.x) + std::int64_t{k} * M::kXBytes,
                   .x_row_bytes = call.x_stride * M::kXBytes,
                   .y = nullptr,
                   .y_stride = call.y_stride,
                   .bias = nullptr,
                   .k = last ? static_cast<int>(call.k) - k : k_block,
                   .cols = 0,
                   .prefetch_bytes = call.prefetch_bytes > 0 ? call.prefetch_bytes : kPrefetchBytes,
                   .following = nullptr,
                   .resume = k > 0};
    for (int col = 0; col < call.cols; col += cols) {
      const int next_col = col + cols;
      panel.following = next_col < call.cols ? M::weights_at(call, next_col, k)
                        : last               ? M::weights_at(call, col, static_cast<int>(call.k))
                                             : M::weights_at(call, 0, k + k_block);
      panel.weights = M::weights_at(call, col, k);
      panel.y = call.y + col;
      panel.bias = last && call.bias != nullptr ? call.bias + col : nullptr;
      panel.cols = call.cols - col;
      use(panel);
    }
  }
}

template <class M>
void run_gemm(const GemmCall& call) {
  const bool few = call.rows <= M::kFewRows;
  const int k_block = few || call.rows <= M::kManyRows ? static_cast<int>(call.k)
                      : call.step_k > 0                ? call.step_k
                                                       : M::kStepK;
  each_panel<M>(call, k_block, (few ? 2 : M::kManyVecs) * 16, [&](const Panel& panel) {
    if (few || (M::kManyVecs == 4 && panel.cols <= 32))
      run_groups<M, M::kFewRows, 2>(call, panel);
    else
      run_groups<M, M::kManyRows, M::kManyVecs>(call, panel);
  });
}

// Many rows meet weights of M that were widened before, those of one panel at a time, by M::Wide.
template <class M>
void run_wide_gemm(const GemmCall& call) {
  using Wide = typename M::Wide;
  constexpr int kVecs = Wide::kManyVecs;
  alignas(64) float wide[M::kStepK * kVecs * 16];
  const int k_block = call.step_k > 0 && call.step_k < M::kStepK ? call.step_k : M::kStepK;
  each_panel<M>(call, k_block, kVecs * 16, [&](Panel panel) {
    Wide::template widen<kVecs>(panel.weights, panel.k, wide);
    panel.weights = reinterpret_cast<const char*>(wide);
    run_groups<Wide, Wide::kManyRows, kVecs>(call, panel);
  });
}

}  // namespace
}  // namespace foretoken
