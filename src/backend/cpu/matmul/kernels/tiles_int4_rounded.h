#pragma once
// Products of codes of 4 bits in groups on 2D tile registers. Codes less their zero points fill
// tiles, a step of K at a time, so that they are multiplied from L1; the integer sums of a group
// leave the tiles, are scaled and added to sixteen float32 sums of sixteen rows, which stay
// in vector registers for the step. Input: pack_x_code_tiles. Tiles is the instruction set as in
// tiles_bf16.h, but dot<C, A, B>() multiplies signed codes and adds integers. For translation units
// of kernels only (v16.h).

#include "backend/cpu/matmul/kernels/tiles_int8_rounded.h"

namespace foretoken {
namespace {

// Of K, so that 32 columns of weights are in L1 as the tiles that are multiplied and as those that
// are made.
constexpr int kGroupedStepK = 512, kFewGroupedStepK = 256;

// Groups of a step of at most so much K, unless the call asks for less: an even number, so that
// each step begins a tile of input.
inline int groups_of_step(const CodeLayout& codes, int asked, int most) {
  const int k = asked > 0 && asked < most ? asked : most;
  return k / codes.group < 2 ? 2 : k / codes.group & ~1;
}

inline TileShape shape_of_groups(const GemmCall& call) {
  TileShape shape = shape_of_rows(call.tile_rows);
  shape.is_half = call.codes.step < kCodeStepK;
  return shape;
}

// Some groups of kBlockCols columns, ready to be multiplied. A tile has StepK of K.
template <int StepK>
class GroupTiles {
 public:
  static constexpr int kBytes = StepK * 16;  // of a tile

  explicit GroupTiles(const CodeLayout& codes) : codes_(codes), steps_(codes.group / StepK) {}

  // Half of the columns of a group, of those whose first unit is given.
  FT_INLINE void make(const char* unit, int group, int half) {
    constexpr int kHalfBytes = StepK * 8;
    unit += group * codes_.unit_bytes;
    store(scales_ + (group * 2 + half) * 16,
          load_scales(unit + codes_.scales_at, codes_.scale, half));
    char* tile = tiles_ + (group * steps_ * 2 + half) * kBytes;
    const I16 zeros = zeros_of(unit, half);
    const char* lines = unit + half * kHalfBytes;
    for (int s = 0; s < steps_; ++s, tile += 2 * kBytes, lines += 2 * kHalfBytes) {
      FT_UNROLL
      for (int at = 0; at < kHalfBytes; at += 64) {
        int_store(tile + 2 * at, less_zeros(low_codes(lines + at), zeros));
        int_store(tile + 2 * at + 64, less_zeros(high_codes(lines + at), zeros));
      }
    }
  }
  void make_all(const char* unit, int groups) {
    for (int g = 0; g < groups; ++g)
      for (int half = 0; half < 2; ++half) make(unit, g, half);
  }

  int steps_of_group() const { return steps_; }
  const char* tile(int step, int half) const { return tiles_ + (step * 2 + half) * kBytes; }
  const float* scales(int group, int half) const { return scales_ + (group * 2 + half) * 16; }

 private:
  FT_INLINE I16 zeros_of(const char* unit, int half) const {
    if (codes_.zeros_at == 0) return int_set1(0x08080808);
    const auto* zeros = reinterpret_cast<const std::int16_t*>(unit + codes_.zeros_at);
    return int_mul(load_i16(zeros + half * 16), int_set1(0x01010101));
  }

  CodeLayout codes_;
  int steps_;  // of a group
  alignas(64) char tiles_[kGroupedStepK * kBlockCols];
  alignas(64) float scales_[kGroupedStepK];
};

// Sixteen columns of up to sixteen rows over the groups of a step of K.
template <int StepK>
struct GroupPanel {
  const char* x;          // tiles
  int x_tile_bytes;       // from each to the next
  const float* x_scales;  // [groups][16]
  const GroupTiles<StepK>& weights;
  int half;
  int groups;
  float* acc;  // a tile
  bool resume;
  GroupTiles<StepK>* made;  // meanwhile, of so many groups from a unit on
  const char* unit;
  int made_groups;
  const char* ahead;  // weights that are asked for meanwhile
  int ahead_lines;    // beside each group
};

// Groups take turns with two registers of sums, which are stored a group later and read yet another
// one later, when they have arrived.
template <class Tiles, int StepK, int R>
void run_group_panel(const GroupPanel<StepK>& p) {
  constexpr int kBuffers = 4;
  alignas(64) std::int32_t found[kBuffers][kTileFloats];
  V16 sum[R];
  FT_UNROLL
  for (int r = 0; r < R; ++r) sum[r] = p.resume ? load(p.acc + r * 16) : zero();
  const int steps = p.weights.steps_of_group();
  const char* tile = p.weights.tile(0, p.half);
  const char* ahead = p.ahead;
  int step = 0;
  const auto multiply_to = [&]<int C>() __attribute__((always_inline)) {
    for (int line = 0; line < p.ahead_lines; ++line, ahead += 64) prefetch_l2(ahead);
    Tiles::template zero<C>();
    for (int i = 0; i < steps; ++i, ++step, tile += 2 * GroupTiles<StepK>::kBytes) {
      const char* x = p.x + step * p.x_tile_bytes;
      if constexpr (StepK < kCodeStepK) x = p.x + step / 2 * p.x_tile_bytes + step % 2 * StepK;
      Tiles::template load<4 + C>(x, 64);
      Tiles::template load<6 + C>(tile, 64);
      Tiles::template dot<C, 4 + C, 6 + C>();
    }
  };
  const auto multiply = [&](int g) __attribute__((always_inline)) {
    if (g % 2 == 0)
      multiply_to.template operator()<0>();
    else
      multiply_to.template operator()<1>();
  };
  const auto keep_sums = [&](int g) __attribute__((always_inline)) {
    if (g % 2 == 0)
      Tiles::template store<0>(found[g % kBuffers], 64);
    else
      Tiles::template store<1>(found[g % kBuffers], 64);
  };
  multiply(0);
  if (p.groups > 1) multiply(1);
  keep_sums(0);
  const float* x_scales = p.x_scales;
  for (int g = 0; g < p.groups; ++g, x_scales += kTileRows) {
    if (g + 2 < p.groups) multiply(g + 2);
    if (g < p.made_groups) p.made->make(p.unit, g, p.half);
    const V16 scale = load(p.weights.scales(g, p.half));
    const std::int32_t* const of_group = found[g % kBuffers];
    FT_UNROLL
    for (int r = 0; r < R; ++r)
      sum[r] = fma(to_float(int_load(of_group + r * 16)), mul(set1(x_scales[r]), scale), sum[r]);
    if (g + 1 < p.groups) keep_sums(g + 1);
  }
  FT_UNROLL
  for (int r = 0; r < R; ++r) store(p.acc + r * 16, sum[r]);
}

template <class Tiles, int StepK>
void run_group_rows(int rows, const GroupPanel<StepK>& panel) {
  if (rows <= 4) return run_group_panel<Tiles, StepK, 4>(panel);
  if (rows <= 8) return run_group_panel<Tiles, StepK, 8>(panel);
  if (rows <= 12) return run_group_panel<Tiles, StepK, 12>(panel);
  run_group_panel<Tiles, StepK, 16>(panel);
}

// The steps of a call in the order in which they are multiplied: all columns of a step of K, then
// those of the next; behind the last come those of the next call, most likely.
class GroupSteps {
 public:
  GroupSteps(const GemmCall& call, int step)
      : call_(call), step_(step), col_blocks_(ceil_div(call.cols, kBlockCols)) {}

  struct Place {
    int group = 0, block = 0;  // the first group, and the columns of a call
  };
  Place after(Place at) const {
    if (++at.block < col_blocks_) return at;
    return {at.group + step_, 0};
  }
  bool is_there(Place at) const { return at.group < call_.codes.groups; }
  int groups(Place at) const {
    const int left = call_.codes.groups - at.group;
    return left < step_ ? left : step_;
  }
  const char* unit(Place at) const {
    if (!is_there(at)) return unit_at(col_blocks_ + at.block, 0);
    return unit_at(at.block, at.group);
  }

 private:
  const char* unit_at(int block, int group) const {
    return static_cast<const char*>(call_.weights) + block * call_.block_bytes +
           std::int64_t{group} * call_.codes.unit_bytes;
  }

  const GemmCall& call_;
  int step_, col_blocks_;
};

// Steps of K outside, so that the input of a step stays in L2 while all columns pass, and 32
// columns of weights in L1 while all rows do. Where one tile has all rows, weights are made beside
// the products of the step before.
template <class Tiles, int StepK>
void sum_groups(const GemmCall& call) {
  Tiles::configure(shape_of_groups(call));
  const CodeLayout& codes = call.codes;
  const int row_tiles = ceil_div(call.rows, kTileRows);
  const bool is_few = row_tiles == 1;
  const GroupSteps steps(
      call, groups_of_step(codes, call.step_k, is_few ? kFewGroupedStepK : kGroupedStepK));
  const auto* const x = static_cast<const char*>(call.x);
  const int ahead_lines = ceil_div(codes.unit_bytes / 64, 2 * row_tiles);

  GroupTiles<StepK> weights[2] = {GroupTiles<StepK>(codes), GroupTiles<StepK>(codes)};
  int now = 0;
  GroupSteps::Place place;
  if (is_few) weights[now].make_all(steps.unit(place), steps.groups(place));
  for (; steps.is_there(place); place = steps.after(place)) {
    const int groups = steps.groups(place);
    const GroupSteps::Place next = steps.after(place);
    if (!is_few) weights[now].make_all(steps.unit(place), groups);
    const char* ahead = steps.unit(is_few ? steps.after(next) : next);
    float* acc = call.sums + place.block * sums_of_block(call.rows);
    for (int row = 0; row < call.rows; row += kTileRows)
      for (int half = 0; half < 2; ++half, acc += kTileFloats, ahead += groups * ahead_lines * 64)
        run_group_rows<Tiles, StepK>(
            call.rows - row,
            {.x =
                 x + row * call.x_stride + std::int64_t{place.group} * codes.group * call.tile_rows,
             .x_tile_bytes = x_tile_bytes(call.tile_rows),
             .x_scales =
                 code_tile_scales(x + row * call.x_stride, call.k) + place.group * kTileRows,
             .weights = weights[now],
             .half = half,
             .groups = groups,
             .acc = acc,
             .resume = place.group > 0,
             .made = &weights[now ^ 1],
             .unit = steps.unit(next),
             .made_groups = is_few && steps.is_there(next) ? steps.groups(next) : 0,
             .ahead = ahead,
             .ahead_lines = ahead_lines});
    if (is_few) now ^= 1;
  }
}

template <class Tiles>
void sum_any_groups(const GemmCall& call) {
  if (call.codes.step == kCodeStepK)
    sum_groups<Tiles, kCodeStepK>(call);
  else
    sum_groups<Tiles, kCodeStepK / 2>(call);
}

template <class Tiles>
void run_groups(const GemmCall& all) {
  run_column_blocks<Tiles>(all, shape_of_groups(all), cols_in_turns(all.rows), take_tiles,
                           sum_any_groups<Tiles>);
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
          .sum = [](const GemmCall& call) { sum_any_groups<Tiles>(call); },
          .take = take_tiles,
          .wide_rows = wide_rows};
}

}  // namespace
}  // namespace foretoken
