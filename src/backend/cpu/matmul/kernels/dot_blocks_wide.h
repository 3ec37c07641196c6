#pragma once
// The product of dot_blocks_rounded.h for several rows: the codes of a panel, kWideK k of 32 outputs,
// are taken out of their planes once, into bytes in L1, with the scales and minima of their groups
// as floats; all rows meet them there. The same operations on the same numbers in the same order, so
// the same bits.
// For translation units of kernels only (v16.h).

#include "backend/cpu/matmul/kernels/block_weights.h"
#include "backend/cpu/matmul/kernels/dot_block_quads.h"
#include "backend/cpu/matmul/kernels/gemm_loops.h"
#include "backend/cpu/simd/int_vectors.h"
#include "backend/cpu/table/kernels.h"
#include "base/index.h"

namespace foretoken {
namespace {

constexpr int kWideK = 512;          // opened at once; it fits into L1
constexpr int kOpeningAhead = 4096;  // bytes that are asked for before they are opened

// Fewer rows read weights where they lie: opening takes about as long as reading them from memory.
#if defined(FT_DOT_VNNI)
constexpr int kLeastOpenedRows = kFormRegisters == 32 ? 17 : 3;
#else
constexpr int kLeastOpenedRows = kFormRegisters == 32 ? 7 : 3;
#endif

// A panel of weights, opened. Of each half: quads in order, 64 bytes each; scales and minima of
// groups in order, 16 floats each, the minima negated, as sums take them.
struct alignas(64) OpenedBlocks {
  char quads[2][kWideK / 4][64];
  float scale[2][kWideK / kBlockK][16];
  float less[2][kWideK / kBlockK][16];
};

// The quads of a unit's half as bytes, one line after the other.
template <class Codes, int First = 0>
FT_INLINE void open_half(const char* half, char (*to)[64]) {
  int_store(to[First], Codes::template quad<First>(half));
  if constexpr (First + 1 < kUnitQuads) open_half<Codes, First + 1>(half, to);
}

// `piece`: the first of the panel.
template <int Bits, CodeList List>
void open_blocks(const char* piece, int units, const BlockLayout& b, OpenedBlocks& out) {
  for (int u = 0; u < units; ++u, piece += b.piece_bytes) {
    const char* const unit = piece + b.piece_bytes - b.unit_bytes;
    ask_for_piece(piece, b, kOpeningAhead);
    for (int half = 0; half < 2; ++half) {
      open_half<BlockCodes<Bits, List>>(unit + half * b.half_bytes,
                                        &out.quads[half][u * kUnitQuads]);
      store(out.scale[half][u], piece_scale(piece, half));
      if (b.has_minima) store(out.less[half][u], sub(zero(), piece_minimum(piece, half)));
    }
  }
}

// Rows that meet one half of an opened panel.
struct OpenedPanel {
  const OpenedBlocks* weights;
  int half, groups;
  const char* x;  // codes of the first row and group
  std::int64_t x_row_bytes;
  const float* scales;         // of x, of the first row and group
  const std::int32_t* starts;  // beside them
  float* y;
  std::int64_t y_stride;
  const float* bias;  // added at the end
  int cols;
  bool resume;
  const char* following;  // weights that are asked for meanwhile; null: none
  int following_bytes;    // for each group
};

template <int Bits, CodeList List, bool Minima, int R>
__attribute__((noinline)) void run_opened_rows(const OpenedPanel& p) {
  const std::int64_t row_step = p.x_row_bytes / 4;
  V16 acc[R][1];
  load_accumulators(p, acc);
  const char* quads = p.weights->quads[p.half][0];
  const char* x = p.x;
  for (int g = 0; g < p.groups; ++g, quads += kUnitQuads * 64, x += kBlockK) {
    if (p.following != nullptr)
      for (int ahead = 0; ahead < p.following_bytes; ahead += 64)
        prefetch_l1(p.following + g * std::int64_t{p.following_bytes} + ahead);
    I16 sum[R][1];
    dot_quads<kDotBits<Bits, List>, kUnitQuads>({quads}, x, p.x_row_bytes, sum);
    const V16 scale = load(p.weights->scale[p.half][g]);
    FT_UNROLL
    for (int r = 0; r < R; ++r) {
      const V16 x_scale = set1(p.scales[r * row_step + g]);
      const std::int32_t start = p.starts[r * row_step + g];
      if constexpr (Minima) {
        acc[r][0] = fma(to_float(sum[r][0]), mul(x_scale, scale), acc[r][0]);
        acc[r][0] = fma(set1(static_cast<float>(start)),
                        mul(x_scale, load(p.weights->less[p.half][g])), acc[r][0]);
      } else {
        acc[r][0] =
            fma(to_float(int_add(sum[r][0], int_set1(start))), mul(x_scale, scale), acc[r][0]);
      }
    }
  }
  store_accumulators(p, acc);
}

constexpr int kOpenedRows = kFormRegisters == 32 ? 6 : 3;

template <int Bits, CodeList List, bool Minima, int R>
void run_opened_upto(int rows, const OpenedPanel& p) {
  if (rows == R) return run_opened_rows<Bits, List, Minima, R>(p);
  if constexpr (R > 1) run_opened_upto<Bits, List, Minima, R - 1>(rows, p);
}

template <int Bits, CodeList List>
void run_wide_blocks(const GemmCall& call) {
  OpenedBlocks opened;
  const CodeLayout& codes = call.codes;
  const BlockLayout& b = codes.blocks;
  const auto* x = static_cast<const char*>(call.x);
  const auto piece_at = [&](int col, std::int64_t of_k) {
    return static_cast<const char*>(call.weights) + col / kBlockCols * call.block_bytes +
           of_k / kBlockK * b.piece_bytes;
  };
  for (int k = 0; k < call.k; k += kWideK) {
    const bool last = k + kWideK >= call.k;
    const int units = (last ? static_cast<int>(call.k) - k : kWideK) / kBlockK;
    const std::int64_t panel_bytes = std::int64_t{units} * b.piece_bytes;
    const auto* scales = reinterpret_cast<const float*>(x + call.k) + k / codes.group;
    for (int col = 0; col < call.cols; col += kBlockCols) {
      open_blocks<Bits, List>(piece_at(col, k), units, b, opened);
      const int next_col = col + kBlockCols;
      for (int half = 0; half < 2 && col + half * 16 < call.cols; ++half) {
        const int first = col + half * 16;
        OpenedPanel p = {.weights = &opened,
                         .half = half,
                         .groups = units,
                         .x = x + k,
                         .x_row_bytes = call.x_stride,
                         .scales = scales,
                         .starts = reinterpret_cast<const std::int32_t*>(scales + codes.groups),
                         .y = call.y + first,
                         .y_stride = call.y_stride,
                         .bias = last && call.bias != nullptr ? call.bias + first : nullptr,
                         .cols = call.cols - first,
                         .resume = k > 0,
                         .following = half > 0               ? nullptr
                                      : next_col < call.cols ? piece_at(next_col, k)
                                                             : piece_at(0, k + kWideK),
                         .following_bytes = static_cast<int>(panel_bytes / units)};
        const RowGroups groups(call.rows, kOpenedRows);
        for (int g = 0; g < groups.count; ++g) {
          const int rows = groups.rows(g);
          if (b.has_minima)
            run_opened_upto<Bits, List, true, kOpenedRows>(rows, p);
          else
            run_opened_upto<Bits, List, false, kOpenedRows>(rows, p);
          p.following = nullptr;
          p.x += rows * p.x_row_bytes;
          p.scales += rows * p.x_row_bytes / 4;
          p.starts += rows * p.x_row_bytes / 4;
          p.y += rows * p.y_stride;
        }
      }
    }
  }
}

}  // namespace
}  // namespace foretoken
