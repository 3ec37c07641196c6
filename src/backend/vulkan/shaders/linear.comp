#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
// Products of bf16 in tile order (numerics.md): of each 32 k a chain over the even ones and a chain
// over the odd ones, both from 0, added to the accumulator by ascending k.
//
//   workgroup   kCols columns x ROWS rows; 16 lanes of a column take blocks of 32 k in turns
//   shared      the sums of kChunk blocks; then each (row, column) has one lane that adds them up
//
// The order depends on nothing else, so a row has the same bits beside any others.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint ROWS = 1;
const uint kCols = 4, kLanes = 16, kChunk = 32;
layout(push_constant) uniform Call {
  Quads w;  // [columns in whole fours][blocks][4]
  Quads x;  // [rows][blocks][4]
  Floats bias;
  Floats y;
  uint blocks, columns, rows, has_bias;
  uint first_group;  // of columns: a call takes as many as the device lets it
} call;

shared float sums[kCols * ROWS * kChunk];

void main() {
  const uint t = gl_LocalInvocationID.x, column = t / kLanes, lane = t % kLanes;
  const uint first_column = (call.first_group + gl_WorkGroupID.x) * kCols;
  const uint n = first_column + column, first_row = gl_WorkGroupID.y * ROWS;
  const uint my_row = t / kCols, my_column = t % kCols;
  float total = 0.0;
  for (uint start = 0; start < call.blocks; start += kChunk) {
    const uint end = min(start + kChunk, call.blocks);
    for (uint b = start + lane; b < end; b += kLanes) {
      uvec4 w[4];
      [[unroll]] for (uint i = 0; i < 4; ++i) w[i] = call.w.v[(n * call.blocks + b) * 4 + i];
      [[unroll]] for (uint m = 0; m < ROWS; ++m) {
        const uint row = min(first_row + m, call.rows - 1u);
        float even = 0.0, odd = 0.0;
        [[unroll]] for (uint i = 0; i < 4; ++i) {
          const uvec4 x = call.x.v[(row * call.blocks + b) * 4 + i];
          [[unroll]] for (uint j = 0; j < 4; ++j) {
            even = fma_exact(low_half(w[i][j]), low_half(x[j]), even);
            odd = fma_exact(high_half(w[i][j]), high_half(x[j]), odd);
          }
        }
        sums[(column * ROWS + m) * kChunk + b - start] = add(even, odd);
      }
    }
    barrier();
    if (my_row < ROWS)
      for (uint b = 0; b < end - start; ++b)
        total = add(total, sums[(my_column * ROWS + my_row) * kChunk + b]);
    barrier();
  }
  const uint row = first_row + my_row, out_column = first_column + my_column;
  if (my_row >= ROWS || row >= call.rows || out_column >= call.columns) return;
  if (call.has_bias != 0u) total = add(total, call.bias.v[out_column]);
  call.y.v[row * call.columns + out_column] = flushed(total);
}
