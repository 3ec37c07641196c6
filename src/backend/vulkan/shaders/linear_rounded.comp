#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "matrices.glsl"
// Products with weights of codes (codes.glsl) of an input that is codes, too (round_codes.comp,
// round_supers.comp). Sums of groups are integers; rounded_sum.glsl makes the results of them.
//
//   workgroup   as in linear.glsl: ROWS rows x kGroups groups of kCols columns, a block a lane
//   shared      the sums of kLanes blocks, or of their halves; then each (row, column) has one lane
//               that goes through the groups
layout(local_size_x = 64) in;
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Pairs { uvec2 v[]; };
layout(push_constant) uniform Call {
  WEIGHTS_OF_CALL(CODES_OF_CALL)
  Pairs x;  // [rows][32 blocks][quad of 8 codes][block]
  Floats y;
  Floats x_scales;  // rounded_sum.glsl
  Ints x_sums;
  Floats u_scales;
  uint blocks, columns, rows, has_bias;
  uint first;  // of the workgroups' columns
  uint blocks_per_scale;
  OF_CHOICE
} call;
#include "codes.glsl"
#include "rounded_sum.glsl"

const uint kGroups = 2, kLanes = 32, kMostRows = 8, kQuads = 4;
const uint kColumns = kGroups * kCols, kSums = kColumns * ROWS;

DEFINE_ROWS
uint inputs[kMostRows];  // where rows of the input begin

// [part][block][row, column], turned as in linear.glsl.
shared int sums[kParts * kLanes * kSums];

uint place_of(uint part, uint lane, uint sum) {
  return (part * kLanes + lane) * kSums + (sum + lane) % kSums;
}

void add_blocks(uint group, uint my_group, uint start, uint many, uint lane) {
  uint words[kMostWords][kCols];
  int zeros[kCols], sum[2][kMostRows][kCols];
  [[unroll]] for (uint c = 0; c < kCols; ++c) {
    [[unroll]] for (uint p = 0; p < BITS; ++p)
      words[p][c] = WEIGHTS.codes.v[code_place(group, start, many, p, c, lane)];
    zeros[c] = zero_of(group, start + lane, c);
    [[unroll]] for (uint r = 0; r < ROWS; ++r) sum[0][r][c] = sum[1][r][c] = 0;
  }
  [[unroll]] for (uint i = 0; i < kQuads; ++i) {
    const uint part = HAS_HALVES ? i / 2u : 0u;
    uvec2 x[kMostRows];
    [[unroll]] for (uint r = 0; r < ROWS; ++r)
      x[r] = call.x.v[(inputs[r] + start) * kQuads + i * many + lane];
    [[unroll]] for (uint j = 0; j < 8; ++j)
      [[unroll]] for (uint c = 0; c < kCols; ++c) {
        const uint k = 8u * i + j;
        const uint code = code_of(words[low_word(k)][c], words[high_word(k)][c], k);
        const int number = integer_of(code, zeros[c]);
        [[unroll]] for (uint r = 0; r < ROWS; ++r)
          sum[part][r][c] += number * byte_of(x[r][j / 4u], j % 4u);
      }
  }
  [[unroll]] for (uint part = 0; part < kParts; ++part)
    [[unroll]] for (uint r = 0; r < ROWS; ++r)
      [[unroll]] for (uint c = 0; c < kCols; ++c)
        sums[place_of(part, lane, r * kColumns + my_group * kCols + c)] = sum[part][r][c];
}

void main() {
  const uint t = gl_LocalInvocationID.x, lane = t % kLanes, my_group = t / kLanes;
  take_rows();
  if (!has_row(0u)) return;
  [[unroll]] for (uint r = 0; r < ROWS; ++r) inputs[r] = input_of(r) * call.blocks;
  const uint first_group = (call.first + gl_WorkGroupID.y) * kGroups;
  const uint group = first_group + my_group;
  // Of the lane that goes through the groups of a row and a column.
  const uint r = t / kColumns, column = first_group * kCols + t % kColumns;
  const bool has_result = t < kSums && has_row(r) && column < call.columns;
  const uint row = row_of(r), input_row = input_of(r);
  const uint blocks_per_group = HAS_SUPER ? 1u : call.blocks_per_scale;
  const uint groups = (call.blocks + blocks_per_group - 1u) / blocks_per_group * kParts;
  RoundedSum result = RoundedSum(0.0, 0.0, 0, 0);
  int sum = 0;
  for (uint start = 0; start < call.blocks; start += kLanes) {
    const uint many = min(kLanes, call.blocks - start);
    if (lane < many && group * kCols < call.columns)
      add_blocks(group, my_group, start, many, lane);
    barrier();
    if (has_result) {
      for (uint b = 0; b < many; ++b)
        for (uint part = 0; part < kParts; ++part) {
          const uint block = start + b;
          sum += sums[place_of(part, b, t)];
          if ((block + 1u) % blocks_per_group != 0u && block + 1u < call.blocks) continue;
          add_group(result, input_row, column, block, part, groups,
                    block / blocks_per_group * kParts + part, sum);
          sum = 0;
        }
    }
    barrier();
  }
  if (!has_result) return;
  float total = result.y;
  if (call.has_bias != 0u) total = add(total, WEIGHTS.bias.v[column]);
  call.y.v[row * Y_STRIDE + column] = flushed(total);
}
