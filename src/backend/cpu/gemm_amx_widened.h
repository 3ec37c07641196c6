#pragma once
// Products on 2D tile registers of codes that keep their input: a step of K is widened to tiles of
// the bf16 weights that the codes stand for while the tiles of the step before it are multiplied,
// and what was widened comes from L1. Bits are those of the bf16 product in tile order.
// For translation units of kernels only (v16.h).
//
// What widens, Codes, has
//   kIsLeft: a tile of weights has an output to a row, instead of one to a column, and is the left
//     side of the product; the right one is input in pairs of k, and sums come out turned
//   step(codes): blocks of K that are widened together beside few rows, at most half of kAmxStep
//   widen(call, n, block, blocks, to, beside): some blocks of K of the n-th kBlockCols columns of a
//     call; between one tile's worth of it and the next, beside.multiply<0>() and <1>() in turns

#include "backend/cpu/gemm_amx.h"

namespace foretoken {
namespace {

// What is multiplied beside widening: nothing, or the products of the step before it, a tile of
// weights at a time. Tiles multiply while vectors widen if both are near enough in the program for
// the processor to see them at once.
struct NoProducts {
  template <int Half>
  FT_INLINE void multiply() {}
};
template <class Tiles, int RowTiles, bool IsLeft>
class StepProducts {
 public:
  explicit StepProducts(const GemmCall& call)
      : x_(static_cast<const char*>(call.x)),
        x_next_rows_(kTileRows * call.x_stride * 2),
        tile_rows_(call.tile_rows) {}

  void begin(const char* weights, std::int64_t blocks) {
    w_ = weights;
    blocks_ = blocks;
  }
  template <int Half>
  FT_INLINE void multiply() {
    if (blocks_ == 0) return;
    multiply_half<Tiles, false, IsLeft, Half>(x_, tile_rows_, w_);
    w_ += kTileBytes;
    if constexpr (Half == 0) return;
    if constexpr (RowTiles == 2)
      multiply_next_rows<Tiles, false, IsLeft>(x_ + x_next_rows_, tile_rows_);
    x_ += x_tile_bytes(tile_rows_);
    --blocks_;
  }
  void finish() {
    while (blocks_ > 0) {
      multiply<0>();
      multiply<1>();
    }
  }

 private:
  const char* x_;
  const std::int64_t x_next_rows_;
  const int tile_rows_;
  const char* w_ = nullptr;
  std::int64_t blocks_ = 0;
};

template <class Codes>
class WidenedTiles {
 public:
  static constexpr bool kIsWidened = true, kIsLeft = Codes::kIsLeft;

  const char* at(const GemmCall& call, int n, std::int64_t block, std::int64_t blocks) {
    NoProducts nothing;
    codes_.widen(call, n, block, blocks, tiles_, nothing);
    return tiles_;
  }
  // The same of a step of the first columns; what the step before it made stays where it is.
  template <class Beside>
  const char* step_at(const GemmCall& call, std::int64_t block, std::int64_t blocks,
                      Beside& beside) {
    const std::int64_t step = Codes::step(call.codes);
    char* const to = tiles_ + block / step % 2 * (step * 2 * kTileBytes);
    codes_.widen(call, 0, block, blocks, to, beside);
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
  const std::int64_t blocks = call.k / kBlockK, step = Codes::step(call.codes);
  WidenedTiles<Codes> source;
  StepProducts<Tiles, RowTiles, Codes::kIsLeft> products(call);
  zero_tiles<Tiles>();
  for (std::int64_t block = 0; block < blocks; block += step) {
    const std::int64_t some = blocks - block < step ? blocks - block : step;
    const char* const weights = source.step_at(call, block, some, products);
    products.finish();  // beside a shorter step some are left
    products.begin(weights, some);
  }
  products.finish();
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
