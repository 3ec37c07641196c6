#pragma once
// Products of codes of 4 bits in groups on 2D tile registers. Codes less their zero points fill
// tiles, a step of K at a time, so that they are multiplied from L1; the integer sums of a group
// leave the tiles at once, are scaled and added to sixteen float32 sums of sixteen rows, which stay
// in vector registers for the step. Input: pack_x_code_tiles. Tiles is the instruction set as in
// gemm_amx.h, but dot<C, A, B>() multiplies signed codes and adds integers. For translation units
// of kernels only (v16.h).

#include "backend/cpu/gemm_amx_codes.h"

namespace foretoken {
namespace {

constexpr int kMostTileSteps = 16;  // of a step of K: 32 columns of weights are 32 KB, in L1
constexpr int kGroupedStepK = 2 * kMostTileGroup;

// Groups of a step: an even number, so that each step begins a tile.
inline int groups_of_step(const CodeLayout& codes, int step_k) {
  const int k = step_k > 0 && step_k < kGroupedStepK ? step_k : kGroupedStepK;
  return k / codes.group < 2 ? 2 : k / codes.group & ~1;
}

// Some groups of kBlockCols columns, ready to be multiplied. A step of a group whose K is no
// multiple of 64 is half a tile, whose other half is zeros.
class GroupTiles {
 public:
  explicit GroupTiles(const CodeLayout& codes) : codes_(codes), steps_(codes.group / codes.step) {
    if (codes.step == kCodeStepK) return;
    for (int at = 0; at < kMostTileSteps * 2 * kTileBytes; at += 64)
      int_store(tiles_ + at, int_zero());
  }

  // The first unit begins a tile.
  void fill(const char* unit, int groups) {
    float* scales = scales_;
    const char* scales_of = unit + codes_.scales_at;
    for (int g = 0; g < groups; ++g, scales_of += codes_.unit_bytes, scales += kBlockCols)
      for (int half = 0; half < 2; ++half)
        store(scales + half * 16, load_scales(scales_of, codes_.scale, half));
    if (are_halves())
      fill_tiles<kCodeStepK / 2>(unit, groups);
    else
      fill_tiles<kCodeStepK>(unit, groups);
  }

  int steps_of_group() const { return steps_; }
  bool are_halves() const { return codes_.step != kCodeStepK; }
  const char* tile(int step, int half) const { return tiles_ + (step * 2 + half) * kTileBytes; }
  const float* scales(int group, int half) const { return scales_ + (group * 2 + half) * 16; }

 private:
  template <int Step>
  void fill_tiles(const char* unit, int groups) {
    constexpr int kHalfBytes = Step * 8;
    char* tile = tiles_;
    bool is_odd = false;
    for (int g = 0; g < groups; ++g, unit += codes_.unit_bytes) {
      const I16 zeros[2] = {zeros_of(unit, 0), zeros_of(unit, 1)};
      const char* lines = unit;
      for (int s = 0; s < steps_; ++s, is_odd = !is_odd, tile += 2 * kTileBytes)
        for (int half = 0; half < 2; ++half, lines += kHalfBytes) {
          char* to = tile + half * kTileBytes + (Step < kCodeStepK && is_odd ? kTileBytes / 2 : 0);
          FT_UNROLL
          for (int at = 0; at < kHalfBytes; at += 64) {
            int_store(to + 2 * at, less_zeros(low_codes(lines + at), zeros[half]));
            int_store(to + 2 * at + 64, less_zeros(high_codes(lines + at), zeros[half]));
          }
        }
    }
  }
  I16 zeros_of(const char* unit, int half) const {
    if (codes_.zeros_at == 0) return int_set1(0x08080808);
    const auto* zeros = reinterpret_cast<const std::int16_t*>(unit + codes_.zeros_at);
    return int_mul(load_i16(zeros + half * 16), int_set1(0x01010101));
  }

  CodeLayout codes_;
  int steps_;  // of a group
  alignas(64) char tiles_[kMostTileSteps * 2 * kTileBytes];
  alignas(64) float scales_[kMostTileSteps * kBlockCols];
};

// Sixteen columns of up to sixteen rows over the groups of a step of K.
struct GroupPanel {
  const char* x;          // tiles
  int x_tile_bytes;       // from each to the next
  const float* x_scales;  // [groups][16]
  const GroupTiles& weights;
  int half;
  int groups;
  float* acc;  // a tile
  bool resume;
  const char* ahead;  // weights that are asked for meanwhile
  int ahead_lines;    // beside each group
};

// sum += the sums of a group, scaled, of some rows.
template <int First, int End, int R>
FT_INLINE void add_scaled(const std::int32_t* found, const float* x_scales, V16 scale,
                          V16 (&sum)[R]) {
  FT_UNROLL
  for (int r = First; r < End; ++r)
    sum[r] = fma(to_float(int_load(found + r * 16)), mul(set1(x_scales[r]), scale), sum[r]);
}

// Sums are read two groups after they were stored, when they have arrived, and in two halves around
// the next store, so that tiles and vectors are busy together.
template <class Tiles, int R>
void run_group_panel(const GroupPanel& p) {
  constexpr int kLag = 2, kBuffers = 4;
  alignas(64) std::int32_t found[kBuffers][kTileFloats];
  V16 sum[R];
  FT_UNROLL
  for (int r = 0; r < R; ++r) sum[r] = p.resume ? load(p.acc + r * 16) : zero();
  const int steps = p.weights.steps_of_group(), shift = p.weights.are_halves() ? 1 : 0;
  const char* tile = p.weights.tile(0, p.half);
  const char* ahead = p.ahead;
  int step = 0;
  const auto multiply = [&]() __attribute__((always_inline)) {
    for (int line = 0; line < p.ahead_lines; ++line, ahead += 64) prefetch_l2(ahead);
    Tiles::template zero<0>();
    for (const int end = step + steps; step < end; ++step, tile += 2 * kTileBytes) {
      Tiles::template load<4>(p.x + (step >> shift) * p.x_tile_bytes, 64);
      Tiles::template load<6>(tile, 64);
      Tiles::template dot<0, 4, 6>();
    }
  };
  const auto keep_sums = [&](int g) __attribute__((always_inline)) {
    Tiles::template store<0>(found[g % kBuffers], 64);
  };
  for (int g = 0; g < kLag && g < p.groups; ++g) {
    multiply();
    keep_sums(g);
  }
  const float* x_scales = p.x_scales;
  for (int g = 0; g < p.groups; ++g, x_scales += kTileRows) {
    const int next = g + kLag;
    if (next < p.groups) multiply();
    const V16 scale = load(p.weights.scales(g, p.half));
    const std::int32_t* const of_group = found[g % kBuffers];
    add_scaled<0, R / 2>(of_group, x_scales, scale, sum);
    if (next < p.groups) keep_sums(next);
    add_scaled<R / 2, R>(of_group, x_scales, scale, sum);
  }
  FT_UNROLL
  for (int r = 0; r < R; ++r) store(p.acc + r * 16, sum[r]);
}

template <class Tiles>
void run_group_rows(int rows, const GroupPanel& panel) {
  if (rows <= 4) return run_group_panel<Tiles, 4>(panel);
  if (rows <= 8) return run_group_panel<Tiles, 8>(panel);
  if (rows <= 12) return run_group_panel<Tiles, 12>(panel);
  run_group_panel<Tiles, 16>(panel);
}

// Steps of K outside, so that the input of a step stays in L2 while all columns pass, and 32
// columns of weights in L1 while all rows do.
template <class Tiles>
void sum_groups(const GemmCall& call, GroupTiles& weights) {
  Tiles::configure(shape_of_rows<false>(call.tile_rows));
  const CodeLayout& codes = call.codes;
  const int row_tiles = ceil_div(call.rows, kTileRows),
            col_blocks = ceil_div(call.cols, kBlockCols);
  const int step = groups_of_step(codes, call.step_k);
  const auto* const x = static_cast<const char*>(call.x);
  const auto unit_at = [&](int n, int group) {
    return static_cast<const char*>(call.weights) + n * call.block_bytes +
           std::int64_t{group} * codes.unit_bytes;
  };
  for (int group = 0; group < codes.groups; group += step) {
    const bool is_last_step = group + step >= codes.groups;
    const int some = is_last_step ? codes.groups - group : step;
    for (int n = 0; n < col_blocks; ++n) {
      weights.fill(unit_at(n, group), some);
      // After the last step comes the next item, most likely.
      const char* ahead = n + 1 < col_blocks ? unit_at(n + 1, group)
                          : is_last_step     ? unit_at(n + 1, 0)
                                             : unit_at(0, group + step);
      const int ahead_lines = ceil_div(codes.unit_bytes / 64, 2 * row_tiles);
      float* acc = call.sums + n * sums_of_block(call.rows);
      for (int row = 0; row < call.rows; row += kTileRows)
        for (int half = 0; half < 2; ++half, acc += kTileFloats, ahead += some * ahead_lines * 64)
          run_group_rows<Tiles>(
              call.rows - row,
              {.x = x + row * call.x_stride + std::int64_t{group} * codes.group * call.tile_rows,
               .x_tile_bytes = x_tile_bytes(call.tile_rows),
               .x_scales = code_tile_scales(x + row * call.x_stride, call.k) + group * kTileRows,
               .weights = weights,
               .half = half,
               .groups = some,
               .acc = acc,
               .resume = group > 0,
               .ahead = ahead,
               .ahead_lines = ahead_lines});
    }
  }
}

template <class Tiles>
void run_groups(const GemmCall& all) {
  GroupTiles weights(all.codes);
  run_column_blocks<Tiles>(all, kBlockCols, take_tiles,
                           [&](const GemmCall& call) { sum_groups<Tiles>(call, weights); });
}

template <class Tiles>
constexpr GemmKernels group_tile_gemm(int wide_rows) {
  return {.pack_x = pack_x_code_tiles,
          .run = [](const GemmCall& call) { run_groups<Tiles>(call); },
          .peak = code_tile_peak<Tiles>,
          .x_bytes = 1,
          .x_row_extra = 64,
          .row_step = kTileRows,
          .max_rows = kAmxMaxRows,
          .sum =
              [](const GemmCall& call) {
                GroupTiles weights(call.codes);
                sum_groups<Tiles>(call, weights);
              },
          .take = take_tiles,
          .wide_rows = wide_rows};
}

}  // namespace
}  // namespace foretoken
