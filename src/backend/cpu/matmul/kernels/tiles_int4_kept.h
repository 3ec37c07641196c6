#pragma once
// Products of codes of 4 bits that keep their input on 2D tile registers, of weights laid out for
// lookup (kernels.h): the sixteen bf16 that the codes of an output stand for in a group are a table
// in a register, and one permutation looks up 32 k of it. That is a row of a tile, so weights are
// the left side of a product here and input, in pairs of k, the right one; sums come out with
// outputs and rows exchanged and are turned when they are complete. Bits are those of the bf16
// product in tile order, because products commute. Widening costs so little that one row takes the
// same way as many. For translation units of kernels only (v16.h).

#include "backend/cpu/matmul/kernels/code_weights.h"
#include "backend/cpu/matmul/kernels/tiles_codes_kept.h"
#include "backend/cpu/simd/widening_vectors.h"

namespace foretoken {
namespace {

// From here on what p points to is read again: number by number, instead of taken by permutations
// out of registers that it was in, and in every turn of a loop, instead of once for all its turns.
FT_INLINE void stays_in_memory(const void* p) { asm volatile("" ::"r"(p) : "memory"); }

// Weights of kBlockCols columns as tables make tiles [2 halves][16 outputs][32] of them.
class LookedUp {
 public:
  static constexpr bool kIsLeft = true;

  template <int ColBlocks, class Steps>
  void widen(const GemmCall& call, int n, std::int64_t block, std::int64_t blocks, Steps& steps) {
    const CodeLayout& codes = call.codes;
    const StreamsAhead<ColBlocks> ahead(call, n, kCodesAhead, 2 * kBlockK * kLineBytesOfK);
    const auto use = [&](const char* unit, int first, int count) __attribute__((always_inline)) {
      Blocks from[ColBlocks];
      for (int i = 0; i < ColBlocks; ++i) {
        const char* const of_column = unit + i * call.block_bytes;
        tables_[i].take(of_column, codes);
        prefetch_l1(ahead.of[i].of(of_column + codes.scales_at));
        from[i] = {of_column + first * kLineBytesOfK, &ahead.of[i]};
      }
      widen_unit<ColBlocks>(unit, call, from, count / kBlockK, steps);
    };
    each_unit(call, n, block, blocks, use);
  }

 private:
  static constexpr int kLineBytesOfK = kBlockCols / 2;  // bytes of codes of one k

  // Where the tables of a unit are, if those of kScaleTables suit it.
  struct UnitTables {
    bool all_suit = false;
    TablePlaces places;

    void take(const char* from, const CodeLayout& codes) {
      all_suit = codes.scale == CodeScale::kBF16 && codes.zeros_at == 0 &&
                 place_tables(from + codes.scales_at, places);
    }
  };
  // Blocks of K of one group.
  struct Blocks {
    const char* codes;
    const Ahead* ahead;
  };
  // The tables of four outputs of the i-th columns, as widen_lines calls for them: where they are,
  struct FindTables {
    const UnitTables (&of)[2];

    FT_INLINE void operator()(int i, int output, I16 (&table)[4]) const {
      FT_UNROLL
      for (int j = 0; j < 4; ++j) table[j] = table_at(of[i].places, output + j);
    }
  };
  // and by arithmetic.
  struct MakeTables {
    alignas(64) float scales[2][kBlockCols], zeros[2][kBlockCols];

    void take(int i, const char* unit, const CodeLayout& codes) {
      for (int half = 0; half < 2; ++half) {
        const UnitScale s = unit_scale<Int4Codes>(unit, codes, half);
        store(scales[i] + half * 16, s.scale);
        store(zeros[i] + half * 16, s.zero);
      }
    }
    FT_INLINE void operator()(int i, int output, I16 (&table)[4]) const {
      alignas(64) static constexpr float kCodes[16] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                       8, 9, 10, 11, 12, 13, 14, 15};
      const V16 all = load(kCodes);
      FT_UNROLL
      for (int j = output; j < output + 4; j += 2) {
        // Of -0 these make +0.
        const I16 two =
            bf16_words(fma(sub(all, set1(zeros[i][j])), set1(scales[i][j]), zero()),
                       fma(sub(all, set1(zeros[i][j + 1])), set1(scales[i][j + 1]), zero()));
        table[j - output] = both_first(two);
        table[j - output + 1] = both_second(two);
      }
    }
  };

  template <int ColBlocks, class Steps>
  FT_INLINE void widen_unit(const char* unit, const GemmCall& call, Blocks (&from)[ColBlocks],
                            int blocks, Steps& steps) {
    if (tables_[0].all_suit && tables_[ColBlocks - 1].all_suit)
      return widen_steps<ColBlocks>(from, blocks, steps, FindTables{tables_});
    MakeTables tables;
    for (int i = 0; i < ColBlocks; ++i) tables.take(i, unit + i * call.block_bytes, call.codes);
    widen_steps<ColBlocks>(from, blocks, steps, tables);
  }
  // Two blocks that share their tables are a step.
  template <int ColBlocks, class Steps, class Tables>
  FT_INLINE static void widen_steps(Blocks (&from)[ColBlocks], int blocks, Steps& steps,
                                    const Tables& make_tables) {
    for (; blocks >= 2; blocks -= 2) {
      widen_lines<2, 0>(from[0], steps, make_tables);
      if constexpr (ColBlocks == 2) widen_lines<2, 1>(from[1], steps, make_tables);
    }
    if (blocks == 0) return;
    widen_lines<1, 0>(from[0], steps, make_tables);
    if constexpr (ColBlocks == 2) widen_lines<1, 1>(from[1], steps, make_tables);
  }
  // The first of the blocks, which then begin behind them.
  template <int Count, int N, class Steps, class Tables>
  FT_INLINE static void widen_lines(Blocks& blocks, Steps& steps, const Tables& make_tables) {
    const char* const ahead = blocks.ahead->of(blocks.codes);
    char* const to = steps.tiles();
    const auto beside = steps.template beside<N>();
    stays_in_memory(&make_tables);
    FT_UNROLL
    for (int output = 0; output < kBlockCols; output += 4) {
      I16 table[4];
      make_tables(N, output, table);
      char* row = to + output / 16 * kTileBytes + output % 16 * 64;
      FT_UNROLL
      for (int block = 0; block < Count; ++block, row += 2 * kTileBytes) {
        const int at = block * kBlockK * kLineBytesOfK + output / 4 * 64;
        prefetch_l1(ahead + at);
        const I16 line = int_load(blocks.codes + at);
        int_store(row, look_up(table[0], line));
        int_store(row + 64, look_up(table[1], words_down<4>(line)));
        int_store(row + 128, look_up(table[2], words_down<8>(line)));
        int_store(row + 192, look_up(table[3], words_down<12>(line)));
      }
      constexpr int kOutputsOfTile = 16 / Count;  // that are 16 lines of tiles together
      if ((output + 4) % kOutputsOfTile == 0) multiply_beside(beside, output / kOutputsOfTile);
    }
    blocks.codes += Count * kBlockK * kLineBytesOfK;
    steps.template add<N>(Count);
  }

  UnitTables tables_[2];
};

}  // namespace
}  // namespace foretoken
