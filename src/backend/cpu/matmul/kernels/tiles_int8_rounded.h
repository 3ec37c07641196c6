#pragma once
// Products of codes of 8 bits with one group a row on 2D tile registers: a tile of weights is the
// 16 lines of one half, of input 16 rows of 64 codes. Tiles is the instruction set as in
// tiles_bf16.h, but dot<C, A, B>() multiplies signed codes of A with unsigned ones of B and adds
// integers. For translation units of kernels only (v16.h).

#include "backend/cpu/matmul/kernels/dot_codes_rounded.h"
#include "backend/cpu/matmul/kernels/tiles_bf16.h"

namespace foretoken {
namespace {

constexpr int kTileCodes = 64;  // k of a tile

inline float* code_tile_scales(const void* block, std::int64_t packed_k) {
  const auto at =
      reinterpret_cast<std::uintptr_t>(block) + round_up(packed_k, kTileCodes) * kTileRows;
  return reinterpret_cast<float*>(at);
}

// Sixteen rows take 16 * x_stride bytes: their tiles [K/64][tile_rows][64], then scales
// [groups][16], then starts. What the last tile of K has beyond it is not written.
inline void pack_x_code_tiles(const PackXCall& call) {
  const int padded_rows = round_up(call.rows, call.tile_rows);
  const std::int64_t groups = call.packed_k / call.group;
  const std::int64_t tile_bytes = x_tile_bytes(call.tile_rows);
  for (int row = 0; row < padded_rows; ++row) {
    char* const block =
        static_cast<char*>(call.packed) + row / kTileRows * kTileRows * call.x_stride;
    auto* const codes = reinterpret_cast<std::int8_t*>(block) + row % kTileRows * kTileCodes;
    float* scales = code_tile_scales(block, call.packed_k) + row % kTileRows;
    auto* starts = reinterpret_cast<std::int32_t*>(scales + groups * kTileRows);
    for (std::int64_t g = 0; g < groups; ++g, scales += kTileRows, starts += kTileRows) {
      const std::int64_t first = g * call.group, left = row < call.rows ? call.k - first : 0;
      *scales = round_group(
          call.x + row * call.k + first, left < call.group ? left : call.group, call.group,
          call.zero,
          [=](std::int64_t i) {
            const std::int64_t k = first + i;
            return codes + k / kTileCodes * tile_bytes + k % kTileCodes;
          },
          starts);
    }
  }
}

// What outputs of 32 columns have in common whatever the row.
struct CodeColumns {
  V16 scales[2];
  I16 zeros[2];  // the codes that stand for 0 where there are any, else 1

  CodeColumns(const char* unit, const CodeLayout& codes) {
    const auto* const all = reinterpret_cast<const std::int16_t*>(unit + codes.zeros_at);
    for (int half = 0; half < 2; ++half) {
      scales[half] = load_scales(unit + codes.scales_at, codes.scale, half);
      zeros[half] = codes.zeros_at == 0 ? int_set1(1) : load_i16(all + half * 16);
    }
  }
};

// The integer sums of a call, scaled. call.weights: those of the first column of the sums.
inline void take_code_tiles(const GemmCall& call, const GemmOutputs& out) {
  each_tile_output(out, call.sums, sums_of_block(call.rows), [&](int row, int col) {
    const char* const x = static_cast<const char*>(call.x) + row * call.x_stride;
    const float* const x_scales = code_tile_scales(x, call.k);
    const auto* const starts = reinterpret_cast<const std::int32_t*>(x_scales + kTileRows);
    const char* const weights = static_cast<const char*>(call.weights);
    const CodeColumns columns(weights + (out.col + col) / kBlockCols * call.block_bytes,
                              call.codes);
    return [=](int r, int half, const float* sums) {
      const I16 start = int_mul(columns.zeros[half], int_set1(starts[r]));
      const V16 scale = mul(set1(x_scales[r]), columns.scales[half]);
      return fma(to_float(int_add(int_load(sums), start)), scale, zero());
    };
  });
}

template <class Tiles>
void run_code_tiles(const GemmCall& all) {
  run_column_blocks<Tiles>(all, shape_of_rows(all.tile_rows), kBlockCols, take_code_tiles,
                           [](const GemmCall& call) { sum_tile_columns<Tiles>(call, kTileCodes); });
}

template <class Tiles>
double code_tile_peak(int rounds) {
  return 2 * tile_peak<Tiles>(rounds);  // a tile has twice as many codes as bf16
}

template <class Tiles>
constexpr GemmKernels code_tile_gemm(int wide_rows) {
  return {.pack_x = pack_x_code_tiles,
          .run = [](const GemmCall& call) { run_code_tiles<Tiles>(call); },
          .peak = code_tile_peak<Tiles>,
          .x_bytes = 1,
          .x_row_extra = 64,
          .row_step = kTileRows,
          .max_rows = kAmxMaxRows,
          .sum = [](const GemmCall& call) { sum_wide_tiles<Tiles>(call, kTileCodes); },
          .take = take_code_tiles,
          .wide_rows = wide_rows};
}

}  // namespace
}  // namespace foretoken
