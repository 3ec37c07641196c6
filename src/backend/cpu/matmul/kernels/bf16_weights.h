#pragma once
// Where a panel of packed bf16 weights lies (the layout of kernels.h), and one of weights that were
// widened to float32 for many rows.
// For translation units of kernels only (v16.h).

#include "backend/cpu/matmul/kernels/gemm_loops.h"

namespace foretoken {
namespace {

struct Bf16Weights {
  static constexpr int kStepK = 512;  // of 64 columns: 64 KB, half of the smallest L2
  static constexpr int kTileBytes = 1024, kTilePairBytes = 2 * kTileBytes;

  // Of kBlockK k of V vectors.
  template <int V>
  static constexpr int kPanelStep = kTilePairBytes;

  // The weights of one k of vector v, the even or the odd one of a pair, of the block at w.
  template <int V, int Odd>
  FT_INLINE static V16 weight(const char* w, int pair, int v, const Panel& panel) {
    const char* const line = w + vec_offset(panel, v) + pair * 64;
    const auto* const pairs = reinterpret_cast<const std::uint16_t*>(line);
    return Odd == 1 ? odd_bf16(pairs) : even_bf16(pairs);
  }

  // The weights of the 16 columns from `col` on (a multiple of 16), from K index k on.
  static const char* weights_at(const GemmCall& call, int col, int k) {
    return static_cast<const char*>(call.weights) + col / kBlockCols * call.block_bytes +
           k / kBlockK * kTilePairBytes + col % kBlockCols / 16 * kTileBytes;
  }
  // Bytes from a panel's weights to those of its vector v.
  FT_INLINE static std::int64_t vec_offset(const Panel& panel, int v) {
    return v / 2 * panel.block_bytes + v % 2 * kTileBytes;
  }
  // Prefetches one of the kBlockK lines that a K block at w asks for, of every two vectors. Line
  // after line although they are used in turns with lines 1 KB further on: memory delivers nearly
  // three times as much.
  template <int V>
  FT_INLINE static void prefetch_line(const char* w, int line, const Panel& panel) {
    FT_UNROLL
    for (int v = 0; v < V; v += 2)
      prefetch_l1(w + v / 2 * panel.block_bytes + panel.prefetch_bytes + line * 64);
  }
  // The same of what follows: one of kBlockK / 2 lines.
  template <int V>
  FT_INLINE static void prefetch_following(const char* w, int line, const Panel& panel) {
    if (panel.following == nullptr) return;
    FT_UNROLL
    for (int v = 0; v < V; v += 2)
      prefetch_l2(panel.following + v / 2 * panel.block_bytes + (w - panel.weights) / 2 +
                  line * 64);
  }
  // Both of a pair of k, where all is read in one pass.
  template <int V>
  FT_INLINE static void prefetch(const char* w, int pair, const Panel& panel) {
    prefetch_line<V>(w, 2 * pair, panel);
    prefetch_line<V>(w, 2 * pair + 1, panel);
    prefetch_following<V>(w, pair, panel);
  }
};

// [K][V][16] float32 of at most V vectors, in memory of a call's own that stays in its caches.
struct WideWeights {
  template <int V>
  static constexpr int kPanelStep = kBlockK * V * 64;

  static const char* weights_at(const GemmCall& call, int col, int k) {
    return Bf16Weights::weights_at(call, col, k);
  }
  template <int V, int Odd>
  FT_INLINE static V16 weight(const char* w, int pair, int v, const Panel&) {
    return load(reinterpret_cast<const float*>(w + ((2 * pair + Odd) * V + v) * 64));
  }
  template <int V>
  FT_INLINE static void prefetch_line(const char*, int, const Panel&) {}
  template <int V>
  FT_INLINE static void prefetch_following(const char* w, int line, const Panel& panel) {
    if (panel.following != nullptr)
      prefetch_l2(panel.following + (w - panel.weights) / kPanelStep<V> * Bf16Weights::kTileBytes +
                  line * 64);
  }
  template <int V>
  FT_INLINE static void prefetch(const char* w, int pair, const Panel& panel) {
    prefetch_following<V>(w, pair, panel);
  }

  // k weights of V vectors, of packed ones.
  template <int V>
  static void widen(const char* packed, int k, float* wide) {
    for (int done = 0; done < k; done += kBlockK, packed += Bf16Weights::kTilePairBytes)
      for (int pair = 0; pair < kBlockK / 2; ++pair, wide += 2 * V * 16)
        for (int v = 0; v < V; ++v) {
          const char* const line = packed + v * Bf16Weights::kTileBytes + pair * 64;
          const auto* const pairs = reinterpret_cast<const std::uint16_t*>(line);
          store(wide + v * 16, even_bf16(pairs));
          store(wide + (V + v) * 16, odd_bf16(pairs));
        }
  }
};

}  // namespace
}  // namespace foretoken
