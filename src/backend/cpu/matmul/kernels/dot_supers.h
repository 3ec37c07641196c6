#pragma once
// GEMM micro-kernels of weights of blocks with a super (weight_format.h) whose input is rounded to
// codes, 32 k at a time. With the integer multiples s(g) of the scale and m(g) of the minimum of the
// groups of weights:
//   t = sum over the groups of 32 k: s(g) * (sum of code * x over the group)
//   a = fma(float(t), x_scale, a)              from 0, the 32 k of a super ascending
//   y = fma(a, scale, y)                       at the end of each super
//   y = fma(float(sum over the super's groups of m(g) * u(g)), u_scale * minimum, y)
// The last where there are minima, else codes count from their zero. u_scale * u(g) is x_scale * (sum
// of x over the group), with u(g) of 16 bits (pack_x_supers). Sums are of integers and exact.
// Here: rows that read weights where they lie. dot_supers_wide.h: further rows beside them.
// For translation units of kernels only (v16.h).

#include "backend/cpu/matmul/kernels/block_weights.h"
#include "backend/cpu/matmul/kernels/dot_block_quads.h"
#include "backend/cpu/matmul/kernels/gemm_loops.h"
#include "backend/cpu/simd/int_vectors.h"
#include "backend/cpu/table/kernels.h"

namespace foretoken {
namespace {

// Codes of blocks with a super, and where they lie in a piece (BlockLayout, kernels.h).
template <int Bits, CodeList List>
struct SuperCodes : BlockCodes<Bits, List> {
  static constexpr bool kHasMinima =
      List == CodeList::kNone && (Bits == 2 || Bits == 4 || Bits == 5);
  static constexpr int kQuads = List != CodeList::kNone || Bits == 4 || Bits == 5 ? 8 : 4;
  static constexpr int kUnitGroups = kUnitQuads / kQuads, kUnits = kSuperK / kBlockK;
  static constexpr int kGroups = kUnits * kUnitGroups;

  static constexpr bool kSharesBytes = Bits == 2;  // multiples of scales and minima
  static constexpr int kHalfBytes = 64 * Bits, kMultiplesAt = 2 * kHalfBytes;
  static constexpr int kMultipleBytes = kUnitGroups * kBlockCols;
  static constexpr int kMinimaAt = kSharesBytes ? kMultiplesAt : kMultiplesAt + kMultipleBytes;
  static constexpr int kUnitBytes = (kHasMinima ? kMinimaAt : kMultiplesAt) + kMultipleBytes;
  static constexpr int kHeaderBytes = kBlockCols * 2 * (kHasMinima ? 2 : 1);
  static constexpr int kPieceBytes = kHeaderBytes + kUnits * kUnitBytes;

  // Of half `half` of group `group` of a unit: what the scale is multiplied with.
  FT_INLINE static I16 scale_multiple(const char* unit, int group, int half) {
    const I16 all = multiples(unit + kMultiplesAt, group, half);
    return kSharesBytes ? field<0, 15, 0>(byte_of<0>(all)) : all;
  }
  FT_INLINE static I16 minimum_multiple(const char* unit, int group, int half) {
    const I16 all = multiples(unit + kMinimaAt, group, half);
    return kSharesBytes ? field<4, 15, 0>(byte_of<0>(all)) : all;
  }
  // Those of two groups that follow each other, `pair` of a piece.
  FT_INLINE static I16 minimum_pair(const char* piece, int pair, int half) {
    const int group = 2 * pair;
    const char* unit = piece + kHeaderBytes + group / kUnitGroups * kUnitBytes;
    const char* next = piece + kHeaderBytes + (group + 1) / kUnitGroups * kUnitBytes;
    return int_pair(minimum_multiple(unit, group % kUnitGroups, half),
                    minimum_multiple(next, (group + 1) % kUnitGroups, half));
  }

 private:
  FT_INLINE static I16 multiples(const char* all, int group, int half) {
    return load_i8(reinterpret_cast<const std::int8_t*>(all) + group * kBlockCols + half * 16);
  }
};

// Some rows and some supers of the input, and the outputs that they make.
struct SuperRows {
  const char* x;  // codes of the first row and super
  std::int64_t x_row_bytes;
  const float* scales;         // of x, of each 32 k
  const std::int32_t* starts;  // of each group of weights, where there are no minima
  const float* u_scales;       // where there are minima: of each super
  const std::int16_t* u;       // and of each group of weights
  float* y;
  std::int64_t y_stride;
  const float* bias;  // added at the end
  int supers, cols;
  bool resume;

  FT_INLINE void skip(int rows) {
    x += rows * x_row_bytes;
    scales += rows * x_row_bytes / 4;
    starts += rows * x_row_bytes / 4;
    u_scales += rows * x_row_bytes / 4;
    u += rows * x_row_bytes / 2;
    y += rows * y_stride;
  }
};

// The end of super `s`, whose a is `sum`; pair_at(pair, v) as SuperCodes::minimum_pair.
template <class Codes, int R, int V, class PairAt>
FT_INLINE void end_super(const SuperRows& rows, int s, const V16 (&sum)[R][V],
                         const V16 (&scale)[V], const V16 (&minimum)[V], PairAt pair_at) {
  FT_UNROLL
  for (int v = 0; v < V; ++v) {  // one after the other: registers do not suffice for all
    I16 minima[R];
    if constexpr (Codes::kHasMinima) {
      FT_UNROLL
      for (int r = 0; r < R; ++r) minima[r] = int_zero();
      FT_UNROLL
      for (int pair = 0; pair < Codes::kGroups / 2; ++pair) {
        const I16 multiples = pair_at(pair, v);
        FT_UNROLL
        for (int r = 0; r < R; ++r) {
          const std::int16_t* u = rows.u + r * (rows.x_row_bytes / 2) + s * Codes::kGroups;
          const I16 two = int_set1(quad_of(reinterpret_cast<const char*>(u), pair));
          minima[r] = dot_pairs(minima[r], multiples, two);
        }
      }
    }
    const int lanes = lanes_in(rows.cols, v);
    FT_UNROLL
    for (int r = 0; r < R; ++r) {
      float* const to = rows.y + r * rows.y_stride + v * 16;
      V16 y = s == 0 && !rows.resume ? zero() : load_columns(to, lanes);
      y = fma(sum[r][v], scale[v], y);
      if constexpr (Codes::kHasMinima) {
        const V16 u_scale = set1(rows.u_scales[r * (rows.x_row_bytes / 4) + s]);
        y = fma(to_float(minima[r]), mul(u_scale, minimum[v]), y);
      }
      if (rows.bias != nullptr && s + 1 == rows.supers) y = add(y, load(rows.bias + v * 16));
      store_columns(to, y, lanes);
    }
  }
}

template <int R, int N>
FT_INLINE void add_to(I16 (&t)[R][N], const I16 (&more)[R][N]) {
  FT_UNROLL
  for (int r = 0; r < R; ++r) {
    FT_UNROLL
    for (int v = 0; v < N; ++v) t[r][v] = int_add(t[r][v], more[r][v]);
  }
}

// sum = fma(float(t), x_scale, sum) of the 32 k `unit` of the rows.
template <int R, int V, int From, int N>
FT_INLINE void add_unit(const SuperRows& rows, int unit, const I16 (&t)[R][N], V16 (&sum)[R][V]) {
  FT_UNROLL
  for (int r = 0; r < R; ++r) {
    const V16 x_scale = set1(rows.scales[r * (rows.x_row_bytes / 4) + unit]);
    FT_UNROLL
    for (int v = 0; v < N; ++v)
      sum[r][From + v] = fma(to_float(t[r][v]), x_scale, sum[r][From + v]);
  }
}

// How far ahead several rows ask for weights. One row asks for none: it is as fast as memory, and the
// processor follows its stream better alone.
constexpr int kSuperPrefetchBytes = 3072;
constexpr int kSuperRows = kFormRegisters == 32 ? 8 : 3;
constexpr int kSuperVecs = kFormRegisters == 32 ? 2 : 1;

// Registers hold the sums of all vectors of these rows. Otherwise vectors are taken one by one.
template <class Codes>
constexpr bool is_joint(int rows) {
  return rows * Codes::kUnitGroups <= 6;
}

// ---- Weights where they lie ---------------------------------------------------------------------

// What becomes of weights beside their products: nothing. `v`: of the vectors of a call.
struct KeepNothing {
  FT_INLINE void quad(int v, int line, I16 bytes) const { (void)v, (void)line, (void)bytes; }
  FT_INLINE void multiple(int v, int group, I16 m) const { (void)v, (void)group, (void)m; }
  FT_INLINE void minimum(int v, int pair, I16 m) const { (void)v, (void)pair, (void)m; }
};
template <class Keep>
struct KeepQuads {
  Keep keep;
  int from, first_line;  // vector and line of what add_group calls 0

  template <int Q>
  FT_INLINE void quad(int v, I16 bytes) const {
    keep.quad(from + v, first_line + Q, bytes);
  }
};

// A group of weights, quads from First on, of N halves from half + from on: t = its part of the sum.
template <class Codes, int First, int R, int N, class Keep>
FT_INLINE void take_group(const SuperRows& rows, const char* unit, int half, int from,
                          const char* x, int s, int unit_of_super, I16 (&t)[R][N], Keep keep) {
  const int group = unit_of_super * Codes::kUnitGroups + First / Codes::kQuads;
  FT_UNROLL
  for (int r = 0; r < R; ++r) {
    const I16 start =
        Codes::kHasMinima
            ? int_zero()
            : int_set1(rows.starts[r * (rows.x_row_bytes / 4) + s * Codes::kGroups + group]);
    FT_UNROLL
    for (int v = 0; v < N; ++v) t[r][v] = start;
  }
  add_group<Codes, First, Codes::kQuads>(unit + (half + from) * Codes::kHalfBytes,
                                         Codes::kHalfBytes, x, rows.x_row_bytes, t,
                                         KeepQuads<Keep>{keep, from, unit_of_super * kUnitQuads});
  FT_UNROLL
  for (int v = 0; v < N; ++v) {
    const I16 multiple = Codes::scale_multiple(unit, First / Codes::kQuads, half + from + v);
    keep.multiple(from + v, group, multiple);
    FT_UNROLL
    for (int r = 0; r < R; ++r) t[r][v] = int_mul(t[r][v], multiple);
  }
}

// Unit `u` of super `s` of the rows, of N halves from half + From on.
template <class Codes, int From, int N, int R, int V, class Keep>
FT_INLINE void take_unit(const SuperRows& rows, const char* unit, int half, int s, int u,
                         V16 (&sum)[R][V], Keep keep) {
  const char* const x = rows.x + (s * Codes::kUnits + u) * std::int64_t{kBlockK};
  I16 t[R][N];
  take_group<Codes, 0>(rows, unit, half, From, x, s, u, t, keep);
  if constexpr (Codes::kUnitGroups == 2) {
    I16 more[R][N];
    take_group<Codes, 4>(rows, unit, half, From, x, s, u, more, keep);
    add_to(t, more);
  }
  add_unit<R, V, From, N>(rows, s * Codes::kUnits + u, t, sum);
}

// Super `s` of the rows, and V halves of its piece from `half` on. ask(u): before unit u, for weights
// that follow.
template <class Codes, int R, int V, class Ask, class Keep>
FT_INLINE void take_super(const SuperRows& rows, int s, const char* piece, int half, Ask ask,
                          Keep keep) {
  V16 sum[R][V];
  FT_UNROLL
  for (int r = 0; r < R; ++r) {
    FT_UNROLL
    for (int v = 0; v < V; ++v) sum[r][v] = zero();
  }
  const char* unit = piece + Codes::kHeaderBytes;
  for (int u = 0; u < Codes::kUnits; ++u, unit += Codes::kUnitBytes) {
    ask(u);
    if constexpr (V == 1 || is_joint<Codes>(R)) {
      take_unit<Codes, 0, V>(rows, unit, half, s, u, sum, keep);
    } else {
      take_unit<Codes, 0, 1>(rows, unit, half, s, u, sum, keep);
      take_unit<Codes, 1, 1>(rows, unit, half, s, u, sum, keep);
    }
  }
  V16 scale[V], minimum[V];
  FT_UNROLL
  for (int v = 0; v < V; ++v) {
    scale[v] = piece_scale(piece, half + v);
    minimum[v] = Codes::kHasMinima ? piece_minimum(piece, half + v) : zero();
  }
  end_super<Codes>(rows, s, sum, scale, minimum, [&](int pair, int v) {
    const I16 two = Codes::minimum_pair(piece, pair, half + v);
    keep.minimum(v, pair, two);
    return two;
  });
}

// V halves of a block, from `half` on: 0 where they are all. prefetch_bytes 0: ask for nothing.
template <class Codes, int R, int V>
__attribute__((noinline)) void run_super_rows(const SuperRows& rows, const char* piece, int half,
                                              int prefetch_bytes) {
  if constexpr (V == 2) half = 0;
  for (int s = 0; s < rows.supers; ++s, piece += Codes::kPieceBytes) {
    const auto ask = [=](int u) __attribute__((always_inline)) {
      if (prefetch_bytes == 0) return;
      const char* const ahead =
          piece + Codes::kHeaderBytes + u * Codes::kUnitBytes + prefetch_bytes;
      for (int line = 0; line < Codes::kUnitBytes; line += 64) prefetch_l1(ahead + line);
    };
    take_super<Codes, R, V>(rows, s, piece, half, ask, KeepNothing{});
  }
}

template <class Codes, int R, int V>
void run_super_upto(int count, const SuperRows& rows, const char* piece, int half,
                    int prefetch_bytes) {
  if (count == R) return run_super_rows<Codes, R, V>(rows, piece, half, prefetch_bytes);
  if constexpr (R > 1) run_super_upto<Codes, R - 1, V>(count, rows, piece, half, prefetch_bytes);
}

// The input of a call from k on.
template <class Codes>
SuperRows super_rows(const GemmCall& call, int k) {
  const char* const x = static_cast<const char*>(call.x);
  const auto* const scales = reinterpret_cast<const float*>(x + call.k);
  const float* const beside = scales + call.k / kBlockK;
  const int group = k / 4 / Codes::kQuads;
  return {.x = x + k,
          .x_row_bytes = call.x_stride,
          .scales = scales + k / kBlockK,
          .starts = reinterpret_cast<const std::int32_t*>(beside) + group,
          .u_scales = beside + k / kSuperK,
          .u = reinterpret_cast<const std::int16_t*>(beside + call.k / kSuperK) + group,
          .y = nullptr,
          .y_stride = call.y_stride,
          .bias = nullptr,
          .supers = 0,
          .cols = 0,
          .resume = k > 0};
}

// Up to kSuperRows rows.
template <class Codes>
void run_few_supers(const GemmCall& call) {
  const int usual = call.rows == 1 ? 0 : kSuperPrefetchBytes;
  const int prefetch = call.prefetch_bytes > 0 ? call.prefetch_bytes : usual;
  const int vecs = call.rows == 1 ? 2 : kSuperVecs;
  for (int col = 0; col < call.cols; col += kBlockCols) {
    const char* const block =
        static_cast<const char*>(call.weights) + col / kBlockCols * call.block_bytes;
    for (int first = col; first < col + kBlockCols && first < call.cols; first += vecs * 16) {
      SuperRows rows = super_rows<Codes>(call, 0);
      rows.supers = static_cast<int>(call.k) / kSuperK;
      rows.y = call.y + first;
      rows.cols = call.cols - first;
      if (call.bias != nullptr) rows.bias = call.bias + first;
      const int half = (first - col) / 16;
      if (call.rows == 1)
        run_super_rows<Codes, 1, 2>(rows, block, half, prefetch);
      else
        run_super_upto<Codes, kSuperRows, kSuperVecs>(call.rows, rows, block, half, prefetch);
    }
  }
}

}  // namespace
}  // namespace foretoken
