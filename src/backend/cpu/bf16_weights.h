#pragma once
// Where a panel of packed bf16 weights lies (the layout of kernels.h).
// For translation units of kernels only (v16.h).

#include "backend/cpu/gemm_loops.h"

namespace foretoken {
namespace {

struct Bf16Weights {
  static constexpr int kTileBytes = 1024, kTilePairBytes = 2 * kTileBytes;

  // The weights of the 16 columns from `col` on (a multiple of 16), from K index k on.
  static const char* weights_at(const GemmCall& call, int col, int k) {
    return static_cast<const char*>(call.weights) + col / kBlockCols * call.block_bytes +
           k / kBlockK * kTilePairBytes + col % kBlockCols / 16 * kTileBytes;
  }
  // Bytes from a panel's weights to those of its vector v.
  FT_INLINE static std::int64_t vec_offset(const Panel& panel, int v) {
    return v / 2 * panel.block_bytes + v % 2 * kTileBytes;
  }
  // Prefetches a sixteenth of the tiles so many bytes ahead of those at w. Line after line
  // although they are used in turns with lines 1 KB further on: memory delivers nearly three times
  // as much.
  template <int V>
  FT_INLINE static void prefetch(const char* w, int pair, const Panel& panel) {
    FT_UNROLL
    for (int v = 0; v < V; v += 2) {
      const char* ahead = w + v / 2 * panel.block_bytes + panel.prefetch_bytes + pair * 128;
      prefetch_l1(ahead);
      prefetch_l1(ahead + 64);
    }
  }
};

}  // namespace
}  // namespace foretoken
