#pragma once
// The tile order on 2D tile registers. Tiles is the instruction set: eight registers of 16 rows of
// 64 bytes with zero<T>(), load<T>(p, row_bytes), store<T>(p, row_bytes), dot<C, A, B>() and
// configure(), which readies the calling thread. The processor's is in kernels_amx.cc; a test runs
// the same code on a software model. For translation units of kernels only (v16.h).

#include "backend/cpu/kernels.h"
#include "backend/cpu/v16.h"
#include "base/index.h"

namespace foretoken {
namespace {

constexpr int kTileRows = 16;
constexpr int kTileBytes = 1024;  // 16 rows x 32 bf16, or 16 x 16 float32
constexpr int kTileFloats = 256;
constexpr int kAmxMaxRows = 256;              // of one call: 32 KB of accumulators on the stack
constexpr int kAmxStepK = 512;                // K block: 32 columns of weights are 32 KB, in L1
constexpr int kAmxPrefetchBytes = 64 * 1024;  // tile loads outrun the hardware prefetcher

// x rounded to bf16 in tiles [rows/16][K/32][16][32], rows padded with zeros.
inline void pack_x_tiles(const PackXCall& call) {
  const std::int64_t blocks = ceil_div(call.k, kBlockK);
  const int padded_rows = round_up(call.rows, kTileRows);
  for (int row = 0; row < padded_rows; ++row) {
    const float* from = call.x + row * call.k;
    std::uint16_t* to = static_cast<std::uint16_t*>(call.packed) +
                        row / kTileRows * kTileRows * call.x_stride + row % kTileRows * kBlockK;
    for (std::int64_t block = 0; block < blocks; ++block, to += kTileBytes / 2) {
      for (int half = 0; half < kBlockK; half += 16) {
        const std::int64_t k = block * kBlockK + half, left = row < call.rows ? call.k - k : 0;
        const int n = static_cast<int>(left < 0 ? 0 : left > 16 ? 16 : left);
        store_bf16(to + half, n == 16 ? load(from + k) : n == 0 ? zero() : load_n(from + k, n));
      }
    }
  }
}

// RowTiles x 2 tiles of accumulators over some blocks of K.
struct TilePanel {
  const char* x;             // [K/32] tiles of the first 16 rows
  std::int64_t x_tile_rows;  // bytes to those of the next 16
  const char* weights;       // [K/32][2] tiles
  std::int64_t k_blocks;
  float* acc;      // [RowTiles][2] tiles
  bool resume;     // acc holds the sums of earlier blocks
  bool streaming;  // the weights come from memory
  int prefetch_bytes;
};

template <class Tiles, int RowTiles>
void run_tile_panel(const TilePanel& p) {
  constexpr int kRowBytes = 64;
  if (p.resume) {
    Tiles::template load<0>(p.acc, kRowBytes);
    Tiles::template load<1>(p.acc + kTileFloats, kRowBytes);
    if constexpr (RowTiles == 2) {
      Tiles::template load<2>(p.acc + 2 * kTileFloats, kRowBytes);
      Tiles::template load<3>(p.acc + 3 * kTileFloats, kRowBytes);
    }
  } else {
    Tiles::template zero<0>();
    Tiles::template zero<1>();
    Tiles::template zero<2>();
    Tiles::template zero<3>();
  }
  const char* x = p.x;
  const char* w = p.weights;
  for (std::int64_t block = 0; block < p.k_blocks; ++block, x += kTileBytes, w += 2 * kTileBytes) {
    if (p.streaming)
      for (int line = 0; line < 2 * kTileBytes; line += 64)
        _mm_prefetch(w + p.prefetch_bytes + line, _MM_HINT_T1);
    Tiles::template load<6>(w, kRowBytes);
    Tiles::template load<4>(x, kRowBytes);
    Tiles::template load<7>(w + kTileBytes, kRowBytes);
    Tiles::template dot<0, 4, 6>();
    Tiles::template dot<1, 4, 7>();
    if constexpr (RowTiles == 2) {
      Tiles::template load<5>(x + p.x_tile_rows, kRowBytes);
      Tiles::template dot<2, 5, 6>();
      Tiles::template dot<3, 5, 7>();
    }
  }
  Tiles::template store<0>(p.acc, kRowBytes);
  Tiles::template store<1>(p.acc + kTileFloats, kRowBytes);
  if constexpr (RowTiles == 2) {
    Tiles::template store<2>(p.acc + 2 * kTileFloats, kRowBytes);
    Tiles::template store<3>(p.acc + 3 * kTileFloats, kRowBytes);
  }
}

// 16 outputs of a row with their bias, from column `col` of the call on, as far as they exist.
FT_INLINE void store_outputs(const GemmCall& call, int row, int col, V16 a) {
  if (call.bias != nullptr) a = add(a, load(call.bias + col));
  float* y = call.y + row * call.y_stride + col;
  const int left = call.cols - col;
  if (left >= 16)
    store(y, a);
  else
    store_n(y, a, left);
}

// Accumulators of 32 columns, [row tiles][2] tiles, to y.
inline void store_tiles(const GemmCall& call, const float* acc, int col) {
  for (int row = 0; row < call.rows; ++row)
    for (int half = 0; half < 2 && col + half * 16 < call.cols; ++half)
      store_outputs(call, row, col + half * 16,
                    load(acc + (row / kTileRows * 2 + half) * kTileFloats + row % kTileRows * 16));
}

// Sums 32 columns of all rows of the call over K to acc [row tiles][2] tiles. tile_k: of a row of a
// tile, which has 64 bytes; step_k: of a block of K, unless the call says another.
template <class Tiles>
void sum_tile_columns(const GemmCall& call, int col, int tile_k, int step_k, float* acc) {
  const int row_tiles = ceil_div(call.rows, kTileRows);
  const std::int64_t blocks = call.k / tile_k;
  // One pass over K while all accumulators fit the registers.
  const std::int64_t step =
      row_tiles <= 2 ? blocks : ceil_div(call.step_k > 0 ? call.step_k : step_k, tile_k);
  for (std::int64_t block = 0; block < blocks; block += step) {
    TilePanel panel = {
        .x = static_cast<const char*>(call.x) + block * kTileBytes,
        .x_tile_rows = kTileRows * call.x_stride * (64 / tile_k),
        .weights = static_cast<const char*>(call.weights) + col / kBlockCols * call.block_bytes +
                   block * 2 * kTileBytes,
        .k_blocks = blocks - block < step ? blocks - block : step,
        .acc = acc,
        .resume = block > 0,
        .streaming = true,
        .prefetch_bytes = call.prefetch_bytes > 0 ? call.prefetch_bytes : kAmxPrefetchBytes};
    for (int tile = 0; tile < row_tiles; tile += 2) {
      if (tile + 1 < row_tiles)
        run_tile_panel<Tiles, 2>(panel);
      else
        run_tile_panel<Tiles, 1>(panel);
      panel.x += 2 * panel.x_tile_rows;
      panel.acc += 4 * kTileFloats;
      panel.streaming = false;
    }
  }
}

template <class Tiles>
void run_tile_gemm(const GemmCall& call) {
  Tiles::configure();
  alignas(64) float acc[kAmxMaxRows / kTileRows * 2 * kTileFloats];
  for (int col = 0; col < call.cols; col += kBlockCols) {
    sum_tile_columns<Tiles>(call, col, kBlockK, kAmxStepK, acc);
    store_tiles(call, acc, col);
  }
}

// Four independent accumulators: as many as the GEMM has.
template <class Tiles>
double tile_peak(int rounds) {
  Tiles::configure();
  Tiles::template zero<0>();
  Tiles::template zero<1>();
  Tiles::template zero<2>();
  Tiles::template zero<3>();
  Tiles::template zero<4>();
  Tiles::template zero<6>();
  for (int i = 0; i < rounds; ++i) {
    Tiles::template dot<0, 4, 6>();
    Tiles::template dot<1, 4, 6>();
    Tiles::template dot<2, 4, 6>();
    Tiles::template dot<3, 4, 6>();
  }
  return rounds * 4.0 * (2.0 * kTileRows * 16 * kBlockK);
}

template <class Tiles>
constexpr GemmKernels tile_gemm() {
  return {.pack_x = pack_x_tiles,
          .run = run_tile_gemm<Tiles>,
          .peak = tile_peak<Tiles>,
          .x_bytes = 2,
          .x_row_extra = 0,
          .row_step = kTileRows,
          .max_rows = kAmxMaxRows};
}

}  // namespace
}  // namespace foretoken
