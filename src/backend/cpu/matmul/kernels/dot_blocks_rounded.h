#pragma once
// GEMM micro-kernels of weights of blocks whose input is rounded to codes, group by group:
//   y = fma(float(sum of code * x over the group), x_scale * scale, y)
//   y = fma(float(sum of x over the group), x_scale * minimum, y)    where there are minima
// groups ascending; codes count from their zero. Sums are of integers and exact.
// For translation units of kernels only (v16.h).

#include "backend/cpu/matmul/kernels/block_weights.h"
#include "backend/cpu/matmul/kernels/dot_blocks_wide.h"
#include "backend/cpu/matmul/kernels/gemm_loops.h"
#include "backend/cpu/simd/int_vectors.h"
#include "backend/cpu/table/kernels.h"
#include "base/index.h"

namespace foretoken {
namespace {

// Some rows, V vectors of 16 outputs of one block, some units of K.
struct BlockPanel {
  const char* block;  // the first unit's piece is its first
  int half;           // of the first vector
  const char* x;      // codes of the first row and unit
  std::int64_t x_row_bytes;
  const float* scales;         // of x, of the first row and group
  const std::int32_t* starts;  // beside them: what sums of the group begin with
  float* y;
  std::int64_t y_stride;
  const float* bias;  // added at the end
  int units, cols;
  bool resume;
  int prefetch_bytes;
  CodeLayout codes;
};

FT_INLINE int block_lanes(const BlockPanel& p, int v) {
  const int left = p.cols - v * 16;
  return left >= 16 ? 16 : left < 0 ? 0 : left;
}

template <class Codes, int Q, int R, int V>
FT_INLINE void add_quad(const char* unit, const BlockPanel& p, const char* x, I16 (&sum)[R][V]) {
  I16 bytes[V];
  FT_UNROLL
  for (int v = 0; v < V; ++v)
    bytes[v] = Codes::template quad<Q>(unit + (p.half + v) * p.codes.blocks.half_bytes);
  FT_UNROLL
  for (int r = 0; r < R; ++r) {
    std::int32_t four;
    __builtin_memcpy(&four, x + r * p.x_row_bytes + Q * 4, 4);
    FT_UNROLL
    for (int v = 0; v < V; ++v) {
      if constexpr (Codes::kIsListed)
        sum[r][v] = dot(sum[r][v], as_codes8(bytes[v]), input8(four));
      else
        sum[r][v] = dot(sum[r][v], as_codes4(bytes[v]), input4(four));
    }
  }
}

// One group: kQuads quads from First on.
template <int Bits, CodeList List, int First, int Quads, int R, int V>
FT_INLINE void add_block_group(const char* unit, const BlockPanel& p, const char* x, int group,
                               const V16 (&d)[V], const V16 (&m)[V], V16 (&acc)[R][V]) {
  using Codes = BlockCodes<Bits, List>;
  const BlockLayout& b = p.codes.blocks;
  const std::int64_t row_step = p.x_row_bytes / 4;
  I16 sum[R][V];
  FT_UNROLL
  for (int r = 0; r < R; ++r) {
    // Starts are -zero times the sum of the input, or -1 times it where there are minima.
    const std::int32_t start = b.has_minima ? 0 : p.starts[r * row_step + group];
    FT_UNROLL
    for (int v = 0; v < V; ++v) sum[r][v] = int_set1(start);
  }
  add_quad<Codes, First>(unit, p, x, sum);
  add_quad<Codes, First + 1>(unit, p, x, sum);
  add_quad<Codes, First + 2>(unit, p, x, sum);
  add_quad<Codes, First + 3>(unit, p, x, sum);
  if constexpr (Quads == 8) {
    add_quad<Codes, 4>(unit, p, x, sum);
    add_quad<Codes, 5>(unit, p, x, sum);
    add_quad<Codes, 6>(unit, p, x, sum);
    add_quad<Codes, 7>(unit, p, x, sum);
  }
  constexpr int kGroup = First / Quads;
  V16 scale[V], less[V];
  FT_UNROLL
  for (int v = 0; v < V; ++v) {
    scale[v] = group_scale(d[v], unit, b, kGroup, p.half + v);
    less[v] = b.has_minima ? sub(zero(), group_minimum(m[v], unit, b, kGroup, p.half + v)) : zero();
  }
  FT_UNROLL
  for (int r = 0; r < R; ++r) {
    const V16 x_scale = set1(p.scales[r * row_step + group]);
    FT_UNROLL
    for (int v = 0; v < V; ++v)
      acc[r][v] = fma(to_float(sum[r][v]), mul(x_scale, scale[v]), acc[r][v]);
    if (!b.has_minima) continue;
    const V16 total = set1(static_cast<float>(p.starts[r * row_step + group]));
    FT_UNROLL
    for (int v = 0; v < V; ++v) acc[r][v] = fma(total, mul(x_scale, less[v]), acc[r][v]);
  }
}

template <int Bits, CodeList List, int Quads, int R, int V>
__attribute__((noinline)) void run_block_rows(const BlockPanel& p) {
  const BlockLayout& b = p.codes.blocks;
  V16 acc[R][V];
  FT_UNROLL
  for (int r = 0; r < R; ++r) {
    FT_UNROLL
    for (int v = 0; v < V; ++v) {
      const float* y = p.y + r * p.y_stride + v * 16;
      const int n = block_lanes(p, v);
      acc[r][v] = !p.resume ? zero() : n == 16 ? load(y) : load_n(y, n);
    }
  }
  const int header = b.piece_bytes - b.piece_units * b.unit_bytes;
  const char* piece = p.block;
  const char* x = p.x;
  for (int u = 0; u < p.units; piece += b.piece_bytes) {
    V16 d[V], m[V];
    FT_UNROLL
    for (int v = 0; v < V; ++v) {
      d[v] = piece_scale(piece, p.half + v);
      m[v] = b.has_minima ? piece_minimum(piece, p.half + v) : zero();
    }
    const char* unit = piece + header;
    for (int i = 0; i < b.piece_units; ++i, ++u, unit += b.unit_bytes, x += kBlockK) {
      for (int ahead = 0; ahead < b.unit_bytes; ahead += 64)
        prefetch_l1(unit + p.prefetch_bytes + ahead);
      if constexpr (Quads == 8) {
        add_block_group<Bits, List, 0, 8>(unit, p, x, u, d, m, acc);
      } else {
        add_block_group<Bits, List, 0, 4>(unit, p, x, 2 * u, d, m, acc);
        add_block_group<Bits, List, 4, 4>(unit, p, x, 2 * u + 1, d, m, acc);
      }
    }
  }
  FT_UNROLL
  for (int r = 0; r < R; ++r) {
    FT_UNROLL
    for (int v = 0; v < V; ++v) {
      const int n = block_lanes(p, v);
      const V16 a = p.bias == nullptr ? acc[r][v] : add(acc[r][v], load(p.bias + v * 16));
      if (n == 16)
        store(p.y + r * p.y_stride + v * 16, a);
      else
        store_n(p.y + r * p.y_stride + v * 16, a, n);
    }
  }
}

template <int Bits, CodeList List, int Quads, int R, int V>
void run_block_upto(int rows, const BlockPanel& p) {
  if (rows == R) return run_block_rows<Bits, List, Quads, R, V>(p);
  if constexpr (R > 1) run_block_upto<Bits, List, Quads, R - 1, V>(rows, p);
}

#if defined(FT_DOT_VNNI)
constexpr int kBlockRows = kFormRegisters == 32 ? 6 : kFormRegisters == 8 ? 2 : 1;
#else
constexpr int kBlockRows = kFormRegisters == 32 ? 4 : kFormRegisters == 8 ? 2 : 1;
#endif
constexpr int kBlockVecs = 2;
constexpr int kBlocksK = 1024;  // between two spills, a multiple of every piece

// All rows of one block over some units.
template <int Bits, CodeList List, int Quads>
void run_block(const GemmCall& call, BlockPanel p) {
  constexpr int kVecs = kFormRegisters == 32 ? 2 : 1;
  const RowGroups groups(call.rows, kBlockRows);
  for (int g = 0; g < groups.count; ++g) {
    const int rows = groups.rows(g);
    for (int half = 0; half < 2 && half * 16 < p.cols; half += rows == 1 ? 2 : kVecs) {
      BlockPanel part = p;
      part.half = half;
      part.y += half * 16;
      if (part.bias != nullptr) part.bias += half * 16;
      part.cols -= half * 16;
      if (rows == 1)
        run_block_rows<Bits, List, Quads, 1, 2>(part);
      else
        run_block_upto<Bits, List, Quads, kBlockRows, kVecs>(rows, part);
    }
    p.x += rows * p.x_row_bytes;
    p.scales += rows * p.x_row_bytes / 4;
    p.starts += rows * p.x_row_bytes / 4;
    p.y += rows * p.y_stride;
  }
}

template <int Bits, CodeList List, int Quads>
void run_block_gemm(const GemmCall& call) {
  const CodeLayout& codes = call.codes;
  const auto* x = static_cast<const char*>(call.x);
  const int k_block = call.rows <= kBlockRows ? static_cast<int>(call.k) : kBlocksK;
  for (int k = 0; k < call.k; k += k_block) {
    const bool last = k + k_block >= call.k;
    const int length = last ? static_cast<int>(call.k) - k : k_block;
    const auto* scales = reinterpret_cast<const float*>(x + call.k) + k / codes.group;
    for (int col = 0; col < call.cols; col += kBlockCols) {
      const char* block =
          static_cast<const char*>(call.weights) + col / kBlockCols * call.block_bytes;
      run_block<Bits, List, Quads>(
          call, {.block = block + std::int64_t{k / kBlockK / codes.blocks.piece_units} *
                                      codes.blocks.piece_bytes,
                 .half = 0,
                 .x = x + k,
                 .x_row_bytes = call.x_stride,
                 .scales = scales,
                 .starts = reinterpret_cast<const std::int32_t*>(scales + codes.groups),
                 .y = call.y + col,
                 .y_stride = call.y_stride,
                 .bias = last && call.bias != nullptr ? call.bias + col : nullptr,
                 .units = length / kBlockK,
                 .cols = call.cols - col,
                 .resume = k > 0,
                 .prefetch_bytes = call.prefetch_bytes > 0 ? call.prefetch_bytes : kPrefetchBytes,
                 .codes = codes});
    }
  }
}

template <int Bits, CodeList List, int Quads>
void run_block_rows_of(const GemmCall& call) {
  if (call.rows < kLeastOpenedRows) return run_block_gemm<Bits, List, Quads>(call);
  run_wide_blocks<Bits, List, Quads>(call);
}

inline void run_blocks(const GemmCall& call) {
  const CodeLayout& codes = call.codes;
  if (codes.blocks.list == CodeList::kIq4Nl) return run_block_rows_of<4, CodeList::kIq4Nl, 8>(call);
  if (codes.blocks.list == CodeList::kE2M1) return run_block_rows_of<4, CodeList::kE2M1, 8>(call);
  switch (codes.bits) {
    case 2:
      return run_block_rows_of<2, CodeList::kNone, 4>(call);
    case 3:
      return run_block_rows_of<3, CodeList::kNone, 4>(call);
    case 4:
      return run_block_rows_of<4, CodeList::kNone, 8>(call);
    case 5:
      return run_block_rows_of<5, CodeList::kNone, 8>(call);
    default:
      return run_block_rows_of<6, CodeList::kNone, 4>(call);
  }
}

}  // namespace
}  // namespace foretoken
