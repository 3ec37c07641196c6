#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
// Products of bf16 in tile order (numerics.md): of each 32 k a chain over the even ones and a chain
// over the odd ones, both from 0, added to the accumulator by ascending k.
//
//   workgroup   ROWS rows x kGroups groups of kCols columns; the 32 lanes of a group take a block
//               of 32 k each
//   registers   the weights of kCols columns of a block, the chains of kAtOnce rows
//   shared      the sums of kLanes blocks; then each (row, column) has one lane that adds them up
//
// The order depends on nothing else, so a row has the same bits beside any others.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint ROWS = 1;
const uint kCols = 4, kGroups = 2, kLanes = 32;
const uint kAtOnce = ROWS < 8u ? ROWS : 8u;
const uint kColumns = kGroups * kCols, kSums = kColumns * ROWS;
layout(push_constant) uniform Call {
  Quads w;  // as common.glsl lays out blocks, [groups][blocks] of kCols columns
  Quads x;  // the same, [rows][blocks] of one column
  Floats bias;
  Floats y;
  uint blocks, columns, rows, has_bias;
  uint first;  // of the workgroups' columns: a call takes as many as the device lets it
} call;

// [block][row, column]; of each block turned by its number, so that neither lanes that write nor
// lanes that read meet in a bank.
shared float sums[kLanes * kSums];

uint place_of(uint lane, uint sum) { return lane * kSums + (sum + lane) % kSums; }

void main() {
  const uint t = gl_LocalInvocationID.x, lane = t % kLanes, my_group = t / kLanes;
  const uint first_row = gl_WorkGroupID.x * ROWS;
  const uint first_group = (call.first + gl_WorkGroupID.y) * kGroups;
  const uint group = first_group + my_group;
  const bool is_there = group * kCols < call.columns;
  float total[2] = {0.0, 0.0};
  for (uint start = 0; start < call.blocks; start += kLanes) {
    const uint many = min(kLanes, call.blocks - start);
    if (is_there && lane < many) {
      uvec4 w[4][kCols];
      [[unroll]] for (uint i = 0; i < 4; ++i)
        [[unroll]] for (uint c = 0; c < kCols; ++c)
          w[i][c] = call.w.v[((group * call.blocks + start) * 4 + i * many) * kCols + c * many + lane];
      [[unroll]] for (uint m = 0; m < ROWS; m += kAtOnce) {
        float even[8][kCols], odd[8][kCols];
        [[unroll]] for (uint r = 0; r < kAtOnce; ++r)
          [[unroll]] for (uint c = 0; c < kCols; ++c) even[r][c] = odd[r][c] = 0.0;
        [[unroll]] for (uint i = 0; i < 4; ++i) {
          [[unroll]] for (uint r = 0; r < kAtOnce; ++r) {
            const uint row = min(first_row + m + r, call.rows - 1u);
            const uvec4 x = call.x.v[(row * call.blocks + start) * 4 + i * many + lane];
            [[unroll]] for (uint j = 0; j < 4; ++j) {
              const float low = low_half(x[j]), high = high_half(x[j]);
              [[unroll]] for (uint c = 0; c < kCols; ++c) {
                even[r][c] = fma_exact(low_half(w[i][c][j]), low, even[r][c]);
                odd[r][c] = fma_exact(high_half(w[i][c][j]), high, odd[r][c]);
              }
            }
          }
        }
        [[unroll]] for (uint r = 0; r < kAtOnce; ++r)
          [[unroll]] for (uint c = 0; c < kCols; ++c)
            sums[place_of(lane, (m + r) * kColumns + my_group * kCols + c)] = add(even[r][c], odd[r][c]);
      }
    }
    barrier();
    [[unroll]] for (uint i = 0; i < 2; ++i)
      if (t + 64u * i < kSums)
        for (uint b = 0; b < many; ++b) total[i] = add(total[i], sums[place_of(b, t + 64u * i)]);
    barrier();
  }
  [[unroll]] for (uint i = 0; i < 2; ++i) {
    const uint sum = t + 64u * i;
    const uint row = first_row + sum / kColumns, column = first_group * kCols + sum % kColumns;
    if (sum >= kSums || row >= call.rows || column >= call.columns) continue;
    if (call.has_bias != 0u) total[i] = add(total[i], call.bias.v[column]);
    call.y.v[row * call.columns + column] = flushed(total[i]);
  }
}
