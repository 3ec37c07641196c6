#pragma once
// Products of codes of 4 bits that keep their input on 2D tile registers, of weights laid out for
// lookup (kernels.h): the sixteen bf16 that the codes of an output stand for in a group are a table
// in a register, and one permutation looks up 32 k of it. That is a row of a tile, so weights are
// the left side of a product here and input, in pairs of k, the right one; sums come out with
// outputs and rows exchanged and are turned when they are complete. Bits are those of the bf16
// product in tile order, because products commute. Widening costs so little that one row takes the
// same way as many. For translation units of kernels only (v16.h).

#include "backend/cpu/code_weights.h"
#include "backend/cpu/gemm_amx_widened.h"
#include "backend/cpu/widening_vectors.h"

namespace foretoken {
namespace {

// x rounded to bf16 in tiles [rows/16][K/32][16 pairs of k][tile_rows][2]; see pack_x_tiles.
inline void pack_x_pairs(const PackXCall& call) {
  const std::int64_t blocks = ceil_div(call.k, kBlockK);
  for (int row = 0; row < call.rows; ++row) {
    const float* from = call.x + row * call.k;
    char* to = static_cast<char*>(call.packed) +
               (row / kTileRows * kTileRows * call.x_stride + row % kTileRows * 2) * 2;
    for (std::int64_t block = 0; block < blocks; ++block) {
      std::uint16_t values[kBlockK];
      round_block(from + block * kBlockK, call.k - block * kBlockK, values);
      for (int pair = 0; pair < kBlockK; pair += 2, to += 4 * call.tile_rows)
        __builtin_memcpy(to, values + pair, 4);
    }
  }
}

// From here on what p points to is read again: number by number, instead of taken by permutations
// out of registers that it was in, and in every turn of a loop, instead of once for all its turns.
FT_INLINE void stays_in_memory(const void* p) { asm volatile("" ::"r"(p) : "memory"); }

// Weights of kBlockCols columns as tables make tiles [2 halves][16 outputs][32] of them.
class LookedUp {
 public:
  static constexpr bool kIsLeft = true;

  // Few, so that what was widened is in L1, and no more than share their tables.
  static int step(const CodeLayout& codes) { return codes.group < 2 * kBlockK ? 1 : 2; }
  template <class Beside>
  void widen(const GemmCall& call, int n, std::int64_t block, std::int64_t blocks, char* to,
             Beside& beside) {
    constexpr int kPrefetchBytes = 2560;
    const CodeLayout& codes = call.codes;
    const char* const column = static_cast<const char*>(call.weights) + n * call.block_bytes;
    const std::int64_t ahead = call.prefetch_bytes > 0 ? call.prefetch_bytes : kPrefetchBytes;
    const int end = static_cast<int>(block + blocks) * kBlockK;
    for (int k = static_cast<int>(block) * kBlockK; k < end;) {
      const int group = k / codes.group, inside = k - group * codes.group;
      const int some = codes.group - inside < end - k ? codes.group - inside : end - k;
      const char* const unit = column + std::int64_t{group} * codes.unit_bytes;
      prefetch_l1(unit + codes.scales_at + ahead);
      take_scales(unit, group + 1 < codes.groups, codes);
      widen_group({.codes = unit + inside * kLineBytesOfK, .ahead = ahead, .to = to},
                  some / kBlockK, unit, codes, beside);
      to += some / kBlockK * (2 * kTileBytes);
      k += some;
    }
  }

 private:
  static constexpr int kLineBytesOfK = kBlockCols / 2;  // bytes of codes of one k

  // Where the tables of a unit are, if those of kScaleTables suit it.
  struct UnitTables {
    const char* unit = nullptr;
    bool all_suit = false;
    TablePlaces places;

    void take(const char* from, const CodeLayout& codes) {
      unit = from;
      all_suit = codes.scale == CodeScale::kBF16 && codes.zeros_at == 0 &&
                 place_tables(from + codes.scales_at, places);
    }
  };
  // Blocks of K of one group.
  struct Blocks {
    const char* codes;
    std::int64_t ahead;  // bytes from what is read to what is asked for
    char* to;
  };

  // Of this unit, and of the next one already: else every unit began with waiting for that.
  FT_INLINE void take_scales(const char* unit, bool has_next, const CodeLayout& codes) {
    if (tables_[now_].unit == unit) return;
    now_ ^= 1;
    if (tables_[now_].unit != unit) tables_[now_].take(unit, codes);
    if (has_next) tables_[now_ ^ 1].take(unit + codes.unit_bytes, codes);
  }
  template <class Beside>
  void widen_group(const Blocks& blocks, int count, const char* unit, const CodeLayout& codes,
                   Beside& beside) {
    const UnitTables& now = tables_[now_];
    if (now.all_suit)
      return widen_blocks(blocks, count, beside,
                          [&](int output, I16(&table)[4]) __attribute__((always_inline)) {
                            if (output == 0) stays_in_memory(&now.places);
                            FT_UNROLL
                            for (int i = 0; i < 4; ++i) table[i] = table_at(now.places, output + i);
                          });
    alignas(64) float scales[kBlockCols], zeros[kBlockCols];
    for (int half = 0; half < 2; ++half) {
      const UnitScale s = unit_scale<Int4Codes>(unit, codes, half);
      store(scales + half * 16, s.scale);
      store(zeros + half * 16, s.zero);
    }
    alignas(64) static constexpr float kCodes[16] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                     8, 9, 10, 11, 12, 13, 14, 15};
    widen_blocks(
        blocks, count, beside, [&](int output, I16(&table)[4]) __attribute__((always_inline)) {
          if (output == 0) {
            stays_in_memory(scales);
            stays_in_memory(zeros);
          }
          const V16 all = load(kCodes);
          FT_UNROLL
          for (int i = 0; i < 4; i += 2) {
            const float* const scale = scales + output + i;
            const float* const zero_point = zeros + output + i;
            // Of -0 these make +0.
            const I16 two = bf16_words(fma(sub(all, set1(zero_point[0])), set1(scale[0]), zero()),
                                       fma(sub(all, set1(zero_point[1])), set1(scale[1]), zero()));
            table[i] = both_first(two);
            table[i + 1] = both_second(two);
          }
        });
  }
  // make_tables(output, tables): what the codes of four outputs stand for.
  template <class Beside, class MakeTables>
  FT_INLINE static void widen_blocks(Blocks blocks, int count, Beside& beside,
                                     const MakeTables& make_tables) {
    for (; count >= 2; count -= 2) widen_lines<2>(blocks, beside, make_tables);
    if (count > 0) widen_lines<1>(blocks, beside, make_tables);
  }
  // The first of the blocks, which then begin behind them.
  template <int Count, class Beside, class MakeTables>
  FT_INLINE static void widen_lines(Blocks& blocks, Beside& beside, const MakeTables& make_tables) {
    const char* const ahead = blocks.codes + blocks.ahead;
    FT_UNROLL
    for (int output = 0; output < kBlockCols; output += 4) {
      I16 table[4];
      make_tables(output, table);
      char* row = blocks.to + output / 16 * kTileBytes + output % 16 * 64;
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
      if (output % (2 * kOutputsOfTile) == kOutputsOfTile - 4) beside.template multiply<0>();
      if (output % (2 * kOutputsOfTile) == 2 * kOutputsOfTile - 4) beside.template multiply<1>();
    }
    blocks.codes += Count * kBlockK * kLineBytesOfK;
    blocks.to += Count * 2 * kTileBytes;
  }

  UnitTables tables_[2];
  int now_ = 0;
};

template <class Tiles>
constexpr GemmKernels lookup_gemm(int wide_rows) {
  GemmKernels kernels = widened_gemm<Tiles, LookedUp>(wide_rows);
  kernels.pack_x = pack_x_pairs;
  kernels.x_row_place = 2;
  return kernels;
}

}  // namespace
}  // namespace foretoken
