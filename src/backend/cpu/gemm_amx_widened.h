#pragma once
// Products on 2D tile registers of codes that keep their input: a step of K is widened to tiles of
// the bf16 weights that the codes stand for while the tiles of the step before it are multiplied,
// so that what was widened comes from L1. Bits are those of the bf16 product in tile order.
// For translation units of kernels only (v16.h).
//
// What widens, Codes, has
//   kIsLeft: a tile of weights has an output to a row, instead of one to a column, and is the left
//     side of the product; the right one is input in pairs of k, and sums come out turned
//   step(codes): blocks of K that are widened together beside few rows, at most half of kAmxStep
//   widen(call, n, block, blocks, to): some blocks of K of the n-th kBlockCols columns of a call

#include "backend/cpu/gemm_amx.h"

namespace foretoken {
namespace {

template <class Codes>
class WidenedTiles {
 public:
  static constexpr bool kIsWidened = true, kIsLeft = Codes::kIsLeft;

  const char* at(const GemmCall& call, int n, std::int64_t block, std::int64_t blocks) {
    codes_.widen(call, n, block, blocks, tiles_);
    return tiles_;
  }
  // A step of the first columns, from a block on; the step before it stays where it is. Null at the
  // end.
  const char* step_at(const GemmCall& call, std::int64_t block) {
    const std::int64_t left = call.k / kBlockK - block, step = Codes::step(call.codes);
    if (left <= 0) return nullptr;
    char* const to = tiles_ + block / step % 2 * (step * 2 * kTileBytes);
    codes_.widen(call, 0, block, left < step ? left : step, to);
    return to;
  }

 private:
  Codes codes_;
  alignas(64) char tiles_[kAmxStep * 2 * kTileBytes];
};

// Rows and columns of a tile of floats exchanged.
inline void turn_tile(float* tile) {
  V16 rows[16];
  FT_UNROLL
  for (int i = 0; i < 16; ++i) rows[i] = load(tile + i * 16);
  transpose(rows);
  FT_UNROLL
  for (int i = 0; i < 16; ++i) store(tile + i * 16, rows[i]);
}
template <class Codes>
void turn_sums(float* tiles, int count) {
  if constexpr (Codes::kIsLeft)
    for (int i = 0; i < count; ++i) turn_tile(tiles + i * kTileFloats);
}

// The first 32 columns of so few rows that all their sums stay in registers.
template <class Tiles, class Codes, int RowTiles>
void sum_few_widened(const GemmCall& call) {
  const std::int64_t blocks = call.k / kBlockK;
  const int step = Codes::step(call.codes);
  const char* x = static_cast<const char*>(call.x);
  WidenedTiles<Codes> source;
  zero_tiles<Tiles>();
  const char* next = source.step_at(call, 0);
  for (std::int64_t block = 0; block < blocks; block += step) {
    const char* w = next;
    next = source.step_at(call, block + step);
    const std::int64_t end = blocks - block < step ? blocks - block : step;
    for (std::int64_t i = 0; i < end; ++i, x += kTileBytes, w += 2 * kTileBytes)
      multiply_tiles<Tiles, RowTiles, false, Codes::kIsLeft>(x, kTileRows * call.x_stride * 2, w,
                                                             [] {});
  }
  store_tiles<Tiles, RowTiles>(call.sums);
}

template <class Tiles, class Codes>
void run_widened(const GemmCall& all) {
  const int row_tiles = ceil_div(all.rows, kTileRows);
  run_column_blocks<Tiles>(all, take_tiles, [=](const GemmCall& call) {
    if (row_tiles == 1)
      sum_few_widened<Tiles, Codes, 1>(call);
    else if (row_tiles == 2)
      sum_few_widened<Tiles, Codes, 2>(call);
    else
      sum_tile_columns<Tiles, WidenedTiles<Codes>>(call, kBlockK);
    turn_sums<Codes>(call.sums, 2 * row_tiles);
  });
}

template <class Tiles, class Codes>
void sum_wide_widened(const GemmCall& call) {
  sum_wide_tiles<Tiles, WidenedTiles<Codes>>(call, kBlockK);
  turn_sums<Codes>(call.sums,
                   ceil_div(call.cols, kBlockCols) * sums_of_block(call.rows) / kTileFloats);
}

template <class Tiles, class Codes>
constexpr GemmKernels widened_gemm(int wide_rows) {
  GemmKernels kernels = tile_gemm<Tiles>(wide_rows);
  kernels.run = [](const GemmCall& call) { run_widened<Tiles, Codes>(call); };
  kernels.sum = [](const GemmCall& call) { sum_wide_widened<Tiles, Codes>(call); };
  return kernels;
}

}  // namespace
}  // namespace foretoken
