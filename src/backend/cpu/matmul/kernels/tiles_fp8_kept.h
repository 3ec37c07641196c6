#pragma once
// Products of codes of E4M3 on 2D tile registers, of weights laid out by table (kernels.h): the
// bf16 that the seven bits of an output's codes stand for in a unit are two tables of bytes, of low
// and of high ones, and two permutations look up 64 k of it, which are a row of two tiles. Mostly
// all outputs of a unit have one scale and so one table. As of 4 bits (tiles_int4_kept.h) weights
// are the left side of a product. For translation units of kernels only (v16.h).

#include "backend/cpu/matmul/kernels/code_weights.h"
#include "backend/cpu/matmul/kernels/tiles_codes_kept.h"
#include "backend/cpu/simd/widening_vectors.h"

namespace foretoken {
namespace {

// The seven bits of a code, each value of them.
struct SevenBits {
  char of[128];
};
constexpr SevenBits make_seven_bits() {
  SevenBits bits = {};
  for (int i = 0; i < 128; ++i) bits.of[i] = static_cast<char>(i);
  return bits;
}
inline constexpr SevenBits kSevenBits = make_seven_bits();

// Weights of kBlockCols columns as tiles [2 halves][16 outputs][32]; a step is a line's two blocks
// of K.
class LookedUpE4M3 {
 public:
  static constexpr bool kIsLeft = true;

  template <int ColBlocks, class Steps>
  void widen(const GemmCall& call, int n, std::int64_t block, std::int64_t blocks, Steps& steps) {
    const StreamsAhead<ColBlocks> ahead(call, n, kCodesAhead, kCodeStepK * kBlockCols);
    each_unit(call, n, block, blocks, [&](const char* unit, int first, int count) {
      for (int i = 0; i < ColBlocks; ++i) tables_[i].take(unit + i * call.block_bytes, call.codes);
      const char* from = unit + std::int64_t{first} * kBlockCols;
      for (; count > 0; count -= kCodeStepK, from += kCodeStepK * kBlockCols)
        if (count >= kCodeStepK)
          widen_step<ColBlocks, 2>(from, call.block_bytes, ahead, steps);
        else
          widen_step<ColBlocks, 1>(from, call.block_bytes, ahead, steps);
    });
  }

 private:
  static constexpr int kCodes = 128, kTableBytes = 2 * kCodes;

  struct UnitTables {
    const char* unit = nullptr;  // whose they are
    int next = 0;                // bytes from one to the next; 0: all outputs have the same
    alignas(64) char of[kBlockCols * kTableBytes];

    void take(const char* from, const CodeLayout& codes) {
      if (unit == from) return;
      unit = from;
      alignas(64) float scales[kBlockCols];
      for (int half = 0; half < 2; ++half)
        store(scales + half * 16, unit_scale<E4M3Codes>(from, codes, half).scale);
      bool is_same = true;
      for (const float scale : scales) is_same = is_same && scale == scales[0];
      next = is_same ? 0 : kTableBytes;
      const int tables = is_same ? 1 : kBlockCols;
      for (int i = 0; i < tables; ++i) make(set1(scales[i]), of + i * kTableBytes);
    }
    FT_INLINE static void make(V16 scale, char* to) {
      I16 words[kCodes / 32];
      FT_UNROLL
      for (int i = 0; i < kCodes / 32; ++i) {
        const V16Pair code = e4m3_floats(kSevenBits.of + 32 * i);
        words[i] = bf16_words(fma(code.first, scale, zero()),  // of -0 this makes +0
                              fma(code.second, scale, zero()));
      }
      FT_UNROLL
      for (int i = 0; i < 2; ++i) {
        int_store(to + 64 * i, low_bytes(words[2 * i], words[2 * i + 1]));
        int_store(to + kCodes + 64 * i, high_bytes(words[2 * i], words[2 * i + 1]));
      }
    }
  };

  template <int ColBlocks, int Count, class Steps>
  FT_INLINE void widen_step(const char* from, std::int64_t next_column,
                            const StreamsAhead<ColBlocks>& ahead, Steps& steps) const {
    widen_lines<Count, 0>(from, ahead.of[0].of(from), steps);
    if constexpr (ColBlocks == 2) {
      const char* const second = from + next_column;
      widen_lines<Count, 1>(second, ahead.of[1].of(second), steps);
    }
  }
  // Lines of all outputs of the N-th columns, of which the first Count blocks of K are wanted;
  // asked: those to be in L1 soon.
  template <int Count, int N, class Steps>
  __attribute__((noinline)) void widen_lines(const char* from, const char* asked,
                                             Steps& steps) const {
    const char* table = tables_[N].of;
    const std::int64_t next = tables_[N].next;
    char* const to = steps.tiles();
    const auto beside = steps.template beside<N>();
    FT_UNROLL
    for (int tile = 0; tile < 2 * Count; ++tile) {  // as many rows as one has, of all blocks
      FT_UNROLL
      for (int i = 0; i < 16 / Count; ++i, table += next) {
        const int output = tile * (16 / Count) + i;
        prefetch_l1(asked + output * 64);
        const I16Pair rows = look_up_bytes(table, int_load(from + output * 64));
        char* const row = to + output * 64;
        int_store(row, rows.first);
        if constexpr (Count == 2) int_store(row + 2 * kTileBytes, rows.second);
      }
      multiply_beside(beside, tile);
    }
    steps.template add<N>(Count);
  }

  UnitTables tables_[2];
};

}  // namespace
}  // namespace foretoken
