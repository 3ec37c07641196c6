#pragma once
// GEMM micro-kernels of weights that are codes and inputs that are rounded to codes, group by
// group:
//   y = fma(float(sum of (w - zero) * x over the group), x_scale * w_scale, y), groups ascending.
// The sums are of integers and exact, so that it does not matter how an instruction set forms them:
// they begin with -zero * (sum of x), which is found when the input is packed.
// For translation units of kernels only (v16.h).

#include "backend/cpu/matmul/kernels/code_weights.h"
#include "backend/cpu/matmul/kernels/dot_blocks_rounded.h"
#include "backend/cpu/matmul/kernels/gemm_loops.h"
#include "backend/cpu/matmul/kernels/roof_probes.h"
#include "backend/cpu/matmul/kernels/rounded_input.h"
#include "backend/cpu/simd/int_vectors.h"
#include "backend/cpu/table/kernels.h"
#include "base/index.h"

namespace foretoken {
namespace {

struct CodePanel {
  const char* weights;  // of the first group or, within a group, of the first k
  const char* unit;     // of the first group
  std::int64_t block_bytes;
  const char* x;  // the codes that meet the weights
  std::int64_t x_row_bytes;
  const float* scales;  // of x, of the first row and group
  const std::int32_t* starts;
  float* y;
  std::int64_t y_stride;
  const float* bias;  // added at the end
  int groups;         // of this call
  int k;              // of this call, within one group
  int cols;
  bool resume;  // y holds what came before: sums within a group, the result before a group
  bool ends;    // the sums are complete
  int prefetch_bytes;
  const char* following;  // as in Panel
  CodeLayout codes;
};

FT_INLINE V16 load_y(const CodePanel& panel, int r, int v) {
  return load_columns(panel.y + r * panel.y_stride + v * 16, lanes_in(panel.cols, v));
}
FT_INLINE void store_y(const CodePanel& panel, int r, int v, V16 a) {
  store_columns(panel.y + r * panel.y_stride + v * 16, a, lanes_in(panel.cols, v));
}

// Sums of one group before its first product: so much less that its codes count from their zero.
template <int R, int V>
FT_INLINE void begin_sums(const char* unit, const CodePanel& p, int group, I16 (&sum)[R][V]) {
  const std::int32_t* const starts = p.starts + group;
  const std::int64_t row_step = p.x_row_bytes / 4;
  FT_UNROLL
  for (int r = 0; r < R; ++r) {
    FT_UNROLL
    for (int v = 0; v < V; ++v) sum[r][v] = int_set1(starts[r * row_step]);
  }
  if (p.codes.zeros_at == 0) return;
  FT_UNROLL
  for (int v = 0; v < V; ++v) {
    const auto* const zeros =
        reinterpret_cast<const std::int16_t*>(unit + v / 2 * p.block_bytes + p.codes.zeros_at);
    const I16 zero_codes = load_i16(zeros + v % 2 * 16);
    FT_UNROLL
    for (int r = 0; r < R; ++r) sum[r][v] = int_mul(sum[r][v], zero_codes);
  }
}

// One line of each vector, Bits = 8: four k.
template <int R, int V>
FT_INLINE void add_line8(const char* w, const CodePanel& p, const std::int64_t (&offset)[V],
                         const char* x, I16 (&sum)[R][V]) {
  Codes8 b[V];
  FT_UNROLL
  for (int v = 0; v < V; ++v) b[v] = codes8(w + offset[v]);
  FT_UNROLL
  for (int r = 0; r < R; ++r) {
    const Input8 a = input8(quad_of(x + r * p.x_row_bytes, 0));
    FT_UNROLL
    for (int v = 0; v < V; ++v) sum[r][v] = dot(sum[r][v], b[v], a);
  }
}

template <int R, int V>
FT_INLINE void add_codes4(const Codes4 (&b)[V], const CodePanel& p, const char* x,
                          I16 (&sum)[R][V]) {
  FT_UNROLL
  for (int r = 0; r < R; ++r) {
    const Input4 a = input4(quad_of(x + r * p.x_row_bytes, 0));
    FT_UNROLL
    for (int v = 0; v < V; ++v) sum[r][v] = dot(sum[r][v], b[v], a);
  }
}

// One line of each vector, Bits = 4: eight k.
template <int R, int V>
FT_INLINE void add_line4(const char* w, const CodePanel& p, const std::int64_t (&offset)[V],
                         const char* x, I16 (&sum)[R][V]) {
  Codes4 b[V];
  FT_UNROLL
  for (int v = 0; v < V; ++v) b[v] = low_codes(w + offset[v]);
  add_codes4(b, p, x, sum);
  FT_UNROLL
  for (int v = 0; v < V; ++v) b[v] = high_codes(w + offset[v]);
  add_codes4(b, p, x + 4, sum);
}

// k codes of one unit; weights of two vectors are prefetched line after line as they lie.
template <int Bits, int R, int V>
FT_INLINE void add_codes(const char* w, const char* x, int k, const CodePanel& p,
                         I16 (&sum)[R][V]) {
  constexpr int kLineK = 32 / Bits;  // four, or eight
  const std::int64_t half = std::int64_t{p.codes.step} * 2 * Bits;
  std::int64_t offset[V];
  FT_UNROLL
  for (int v = 0; v < V; ++v) offset[v] = v / 2 * p.block_bytes + v % 2 * half;
  for (int done = 0; done < k; done += p.codes.step, w += 2 * half) {
    const char* line = w;
    for (int i = 0; i < p.codes.step; i += kLineK, line += 64, x += kLineK) {
      FT_UNROLL
      for (int v = 0; v < V; v += 2) {
        const char* ahead = w + offset[v] + p.prefetch_bytes + 2 * (line - w);
        prefetch_l1(ahead);
        prefetch_l1(ahead + 64);
        if (p.following != nullptr)
          prefetch_l2(p.following + v / 2 * p.block_bytes + (w - p.weights) / 2 + (line - w));
      }
      if constexpr (Bits == 8)
        add_line8(line, p, offset, x, sum);
      else
        add_line4(line, p, offset, x, sum);
    }
  }
}

// acc += the sums of one group, scaled.
template <int R, int V>
FT_INLINE void scale_sums(const char* unit, const CodePanel& p, int group, const I16 (&sum)[R][V],
                          V16 (&acc)[R][V]) {
  V16 scale[V];
  FT_UNROLL
  for (int v = 0; v < V; ++v)
    scale[v] = load_scales(unit + v / 2 * p.block_bytes + p.codes.scales_at, p.codes.scale, v % 2);
  const std::int64_t row_step = p.x_row_bytes / 4;
  FT_UNROLL
  for (int r = 0; r < R; ++r) {
    const V16 x_scale = set1(p.scales[r * row_step + group]);
    FT_UNROLL
    for (int v = 0; v < V; ++v)
      acc[r][v] = fma(to_float(sum[r][v]), mul(x_scale, scale[v]), acc[r][v]);
  }
}

template <int R, int V>
FT_INLINE void store_result(const CodePanel& p, const V16 (&acc)[R][V]) {
  FT_UNROLL
  for (int r = 0; r < R; ++r) {
    FT_UNROLL
    for (int v = 0; v < V; ++v)
      store_y(p, r, v, p.bias == nullptr ? acc[r][v] : add(acc[r][v], load(p.bias + v * 16)));
  }
}

// One group spans all of K: blocks of K spill their integer sums to y, bit by bit.
template <int Bits>
struct WholeRows {
  static constexpr int kFewRows = kFormRegisters == 32 ? 12 : 1;
  static constexpr int kManyRows = kFormRegisters == 32 ? 12 : kFormRegisters == 8 ? 3 : 2;
  static constexpr int kManyVecs = kFormRegisters == 32 ? 2 : 1;

  template <int R, int V>
  static __attribute__((noinline)) void run(const CodePanel& p) {
    I16 sum[R][V];
    if (!p.resume) {
      begin_sums(p.unit, p, 0, sum);
    } else {
      FT_UNROLL
      for (int r = 0; r < R; ++r) {
        FT_UNROLL
        for (int v = 0; v < V; ++v) sum[r][v] = bits_to_int(load_y(p, r, v));
      }
    }
    add_codes<Bits>(p.weights, p.x, p.k, p, sum);
    if (!p.ends) {
      FT_UNROLL
      for (int r = 0; r < R; ++r) {
        FT_UNROLL
        for (int v = 0; v < V; ++v) store_y(p, r, v, bits_to_float(sum[r][v]));
      }
      return;
    }
    V16 acc[R][V];
    FT_UNROLL
    for (int r = 0; r < R; ++r) {
      FT_UNROLL
      for (int v = 0; v < V; ++v) acc[r][v] = zero();
    }
    scale_sums(p.unit, p, 0, sum, acc);
    store_result(p, acc);
  }
};

// Several groups: blocks of K are of whole groups and spill results.
template <int Bits>
struct GroupedRows {
  // A sum and a result for each output: eight rows of two vectors fill 32 registers, so that
  // results wait in memory while a group is added up.
  static constexpr int kFewRows = kFormRegisters == 32 ? 8 : 1;
  static constexpr int kManyRows = kFormRegisters == 32 ? 8 : kFormRegisters == 8 ? 2 : 1;
  static constexpr int kManyVecs = kFormRegisters == 32 ? 2 : 1;

  template <int R, int V>
  static __attribute__((noinline)) void run(const CodePanel& p) {
    V16 acc[R][V];
    FT_UNROLL
    for (int r = 0; r < R; ++r) {
      FT_UNROLL
      for (int v = 0; v < V; ++v) acc[r][v] = p.resume ? load_y(p, r, v) : zero();
    }
    const char* unit = p.unit;
    const char* half = p.weights;
    const char* x = p.x;
    for (int g = 0; g < p.groups;
         ++g, unit += p.codes.unit_bytes, half += p.codes.unit_bytes, x += p.codes.group) {
      I16 sum[R][V];
      begin_sums(unit, p, g, sum);
      add_codes<Bits>(half, x, p.codes.group, p, sum);
      scale_sums(unit, p, g, sum, acc);
    }
    store_result(p, acc);
  }
};

template <class M, int R, int V>
void run_code_rows(int rows, const CodePanel& panel) {
  if (rows == R) return M::template run<R, V>(panel);
  if constexpr (R > 1) run_code_rows<M, R - 1, V>(rows, panel);
}

template <class M, int R, int V>
void run_code_groups(const GemmCall& call, CodePanel panel, std::int64_t stream_bytes) {
  const RowGroups groups(call.rows, R);
  const char* const following = panel.following;
  for (int g = 0; g < groups.count; ++g) {
    const int rows = groups.rows(g);
    panel.following = groups.count > 1 && V > 1 ? following + g % 2 * (stream_bytes / 2) : nullptr;
    run_code_rows<M, R, V>(rows, panel);
    panel.x += rows * panel.x_row_bytes;
    panel.scales += rows * panel.x_row_bytes / 4;
    panel.starts += rows * panel.x_row_bytes / 4;
    panel.y += rows * panel.y_stride;
  }
}

// All columns and rows of `first`, a stretch of K.
template <class M>
void run_code_columns(const GemmCall& call, const CodePanel& first, int half_bytes) {
  const bool few = call.rows <= M::kFewRows;
  const int vecs = few ? 2 : M::kManyVecs;
  const std::int64_t stream_bytes =
      first.codes.groups > 1 ? std::int64_t{first.groups} * first.codes.unit_bytes
                             : std::int64_t{first.k} / first.codes.step * (2 * half_bytes);
  for (int col = 0; col < call.cols; col += vecs * 16) {
    CodePanel panel = first;
    const std::int64_t block = col / kBlockCols * call.block_bytes;
    const int next_col = col + vecs * 16;
    panel.following = next_col < call.cols
                          ? first.weights + next_col / kBlockCols * call.block_bytes
                          : first.weights + (first.ends ? block : 0) + stream_bytes;
    const int half = col % kBlockCols / 16;
    panel.weights += block + half * half_bytes;
    panel.unit += block;
    panel.codes.scales_at += half * 16 * (call.codes.scale == CodeScale::kF32 ? 4 : 2);
    if (panel.codes.zeros_at != 0) panel.codes.zeros_at += half * 32;
    panel.y += col;
    if (panel.bias != nullptr) panel.bias += col;
    panel.cols = call.cols - col;
    if (few)
      run_code_groups<M, M::kFewRows, 2>(call, panel, stream_bytes);
    else
      run_code_groups<M, M::kManyRows, M::kManyVecs>(call, panel, stream_bytes);
  }
}

constexpr int kCodeBlockK = 2048;  // 32 columns of 8 bits: 64 KB, half of the smallest L2
// A line of 8 bits is multiplied sooner than one of 4 bits.
template <int Bits>
constexpr int kCodePrefetchBytes = Bits == 8 ? 2 * kPrefetchBytes : kPrefetchBytes;

template <int Bits>
void run_code_gemm(const GemmCall& call) {
  const CodeLayout& codes = call.codes;
  const bool is_whole = codes.groups == 1;
  const int most_few = is_whole ? WholeRows<Bits>::kFewRows : GroupedRows<Bits>::kFewRows;
  const auto* x = static_cast<const char*>(call.x);
  const auto* weights = static_cast<const char*>(call.weights);
  const int half_bytes = codes.step * 2 * Bits;
  int k_block = static_cast<int>(call.k);
  const int step = call.step_k > 0 ? call.step_k : kCodeBlockK;
  if (call.rows > most_few) k_block = round_up(step, is_whole ? codes.step : codes.group);
  for (int k = 0; k < call.k; k += k_block) {
    const bool last = k + k_block >= call.k;
    const int length = last ? static_cast<int>(call.k) - k : k_block;
    const int group = k / codes.group;
    const char* unit = weights + std::int64_t{group} * codes.unit_bytes;
    const auto* scales = reinterpret_cast<const float*>(x + call.k) + group;
    const CodePanel panel = {
        .weights = unit + std::int64_t{k % codes.group} / codes.step * (2 * half_bytes),
        .unit = unit,
        .block_bytes = call.block_bytes,
        .x = x + k,
        .x_row_bytes = call.x_stride,
        .scales = scales,
        .starts = reinterpret_cast<const std::int32_t*>(scales + codes.groups),
        .y = call.y,
        .y_stride = call.y_stride,
        .bias = last ? call.bias : nullptr,
        .groups = length / codes.group,
        .k = length,
        .cols = 0,
        .resume = k > 0,
        .ends = last,
        .prefetch_bytes = call.prefetch_bytes > 0 ? call.prefetch_bytes : kCodePrefetchBytes<Bits>,
        .following = nullptr,
        .codes = codes};
    if (is_whole)
      run_code_columns<WholeRows<Bits>>(call, panel, half_bytes);
    else
      run_code_columns<GroupedRows<Bits>>(call, panel, half_bytes);
  }
}

inline void run_codes(const GemmCall& call) {
  if (call.codes.blocks.piece_units > 0)
    run_blocks(call);
  else if (call.codes.bits == 8)
    run_code_gemm<8>(call);
  else
    run_code_gemm<4>(call);
}

// ---- The roof -----------------------------------------------------------------------------------

inline double code_peak(int rounds) {
  constexpr int kChains = kFormRegisters == 32 ? 16 : kFormRegisters == 8 ? 4 : 1;
  alignas(64) unsigned char line[64];
  for (int i = 0; i < 64; ++i) line[i] = static_cast<unsigned char>(37 * i + 11);
  I16 acc[kChains];
  FT_UNROLL
  for (int i = 0; i < kChains; ++i) acc[i] = int_zero();
  const Codes8 w = codes8(line);
  const Input8 x = input8(0x3b85f213);
  for (int round = 0; round < rounds; ++round) {
    FT_UNROLL
    for (int i = 0; i < kChains; ++i) {
      acc[i] = dot(acc[i], w, x);
      V16 seen = bits_to_float(acc[i]);
      keep(seen);
      acc[i] = bits_to_int(seen);
    }
  }
  return rounds * double{kChains} * 128;
}

constexpr GemmKernels code_gemm() {
  return {.pack_x = pack_x_codes,
          .run = run_codes,
          .peak = code_peak,
          .x_bytes = 1,
          .x_row_extra = 64,
          .row_step = 1,
          .max_rows = 1 << 30};
}

}  // namespace
}  // namespace foretoken
