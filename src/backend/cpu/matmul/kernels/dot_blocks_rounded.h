#pragma once
// GEMM micro-kernels of weights of blocks whose groups have scales of their own, and whose input is
// rounded to codes, group by group:
//   y = fma(float(sum of code * x over the group), x_scale * scale, y)
//   y = fma(float(sum of x over the group), x_scale * minimum, y)    where there are minima
// groups ascending; codes count from their zero. Sums are of integers and exact. Beside these kernels
// stands which form a call takes, those of blocks with a super (dot_supers.h) included.
// For translation units of kernels only (v16.h).

#include "backend/cpu/matmul/kernels/block_weights.h"
#include "backend/cpu/matmul/kernels/dot_block_quads.h"
#include "backend/cpu/matmul/kernels/dot_blocks_wide.h"
#include "backend/cpu/matmul/kernels/dot_supers_wide.h"
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

// A unit, which is a group.
template <int Bits, CodeList List, int R, int V>
FT_INLINE void add_block_group(const char* piece, const BlockPanel& p, const char* x, int group,
                               V16 (&acc)[R][V]) {
  using Codes = BlockCodes<Bits, List>;
  const BlockLayout& b = p.codes.blocks;
  const char* const unit = piece + b.piece_bytes - b.unit_bytes;
  const std::int64_t row_step = p.x_row_bytes / 4;
  I16 sum[R][V];
  FT_UNROLL
  for (int r = 0; r < R; ++r) {
    // Starts are -zero times the sum of the input, or -1 times it where there are minima.
    const std::int32_t start = b.has_minima ? 0 : p.starts[r * row_step + group];
    FT_UNROLL
    for (int v = 0; v < V; ++v) sum[r][v] = int_set1(start);
  }
  add_group<Codes, 0, kUnitQuads>(unit + p.half * b.half_bytes, b.half_bytes, x, p.x_row_bytes,
                                  sum);
  V16 scale[V], less[V];
  FT_UNROLL
  for (int v = 0; v < V; ++v) {
    scale[v] = piece_scale(piece, p.half + v);
    less[v] = b.has_minima ? sub(zero(), piece_minimum(piece, p.half + v)) : zero();
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

template <int Bits, CodeList List, int R, int V>
__attribute__((noinline)) void run_block_rows(const BlockPanel& p) {
  const BlockLayout& b = p.codes.blocks;
  V16 acc[R][V];
  load_accumulators(p, acc);
  const char* piece = p.block;
  const char* x = p.x;
  for (int u = 0; u < p.units; ++u, piece += b.piece_bytes, x += kBlockK) {
    ask_for_piece(piece, b, p.prefetch_bytes);
    add_block_group<Bits, List>(piece, p, x, u, acc);
  }
  store_accumulators(p, acc);
}

template <int Bits, CodeList List, int R, int V>
void run_block_upto(int rows, const BlockPanel& p) {
  if (rows == R) return run_block_rows<Bits, List, R, V>(p);
  if constexpr (R > 1) run_block_upto<Bits, List, R - 1, V>(rows, p);
}

#if defined(FT_DOT_VNNI)
constexpr int kBlockRows = kFormRegisters == 32 ? 6 : kFormRegisters == 8 ? 2 : 1;
#else
constexpr int kBlockRows = kFormRegisters == 32 ? 4 : kFormRegisters == 8 ? 2 : 1;
#endif
constexpr int kBlocksK = 1024;  // of several groups of rows between two spills

// All rows of one block over some units.
template <int Bits, CodeList List>
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
        run_block_rows<Bits, List, 1, 2>(part);
      else
        run_block_upto<Bits, List, kBlockRows, kVecs>(rows, part);
    }
    p.x += rows * p.x_row_bytes;
    p.scales += rows * p.x_row_bytes / 4;
    p.starts += rows * p.x_row_bytes / 4;
    p.y += rows * p.y_stride;
  }
}

template <int Bits, CodeList List>
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
      run_block<Bits, List>(
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

template <int Bits, CodeList List = CodeList::kNone>
void run_block_rows_of(const GemmCall& call) {
  if (call.rows < kLeastOpenedRows) return run_block_gemm<Bits, List>(call);
  run_wide_blocks<Bits, List>(call);
}

template <int Bits, CodeList List = CodeList::kNone>
void run_super_rows_of(const GemmCall& call) {
  if (call.rows <= kSuperRows) return run_few_supers<SuperCodes<Bits, List>>(call);
  run_wide_supers<Bits, List>(call);
}

inline void run_blocks(const GemmCall& call) {
  const int bits = call.codes.bits;
  const CodeList list = call.codes.blocks.list;
  if (call.codes.blocks.piece_units > 1) {
    if (list == CodeList::kIq4Nl) return run_super_rows_of<4, CodeList::kIq4Nl>(call);
    if (bits == 2) return run_super_rows_of<2>(call);
    if (bits == 3) return run_super_rows_of<3>(call);
    if (bits == 4) return run_super_rows_of<4>(call);
    if (bits == 5) return run_super_rows_of<5>(call);
    return run_super_rows_of<6>(call);
  }
  if (list == CodeList::kIq4Nl) return run_block_rows_of<4, CodeList::kIq4Nl>(call);
  if (list == CodeList::kE2M1) return run_block_rows_of<4, CodeList::kE2M1>(call);
  if (bits == 4) return run_block_rows_of<4>(call);
  return run_block_rows_of<5>(call);
}

}  // namespace
}  // namespace foretoken
