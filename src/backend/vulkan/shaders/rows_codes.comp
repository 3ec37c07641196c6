#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
// Rows of a matrix of codes (codes.glsl), by token, as their product sees them.
layout(local_size_x = 64) in;
layout(push_constant) uniform Call {
  Words codes;
  Words scales;
  Words minima;
  Words multiples;
  Words zeros;
  Ints order;  // where has_order: the column of each k
  Ints tokens;
  Floats out_rows;
  uint width, blocks, blocks_per_scale, has_order;
} call;
#define WEIGHTS call
#include "codes.glsl"

void main() {
  const uint row = gl_WorkGroupID.y, k = gl_GlobalInvocationID.x;
  if (k >= call.width) return;
  const uint token = uint(call.tokens.v[row]), group = token / kCols, column = token % kCols;
  const uint block = k / 32u, start = block / 32u * 32u, many = min(32u, call.blocks - start);
  const uint inside = k % 32u, lane = block - start, part = HAS_HALVES ? inside / 16u : 0u;
  const uint low = call.codes.v[code_place(group, start, many, low_word(inside), column, lane)];
  uint high = 0u;
  if (kHigh > 0u)
    high = call.codes.v[code_place(group, start, many, high_word(inside), column, lane)];
  const float value =
      weight_of(code_of(low, high, inside), zero_of(group, block, column),
                scale_of(group, block, column, part), minimum_of(group, block, column, part));
  const uint to = call.has_order != 0u ? uint(call.order.v[k]) : k;
  call.out_rows.v[row * call.width + to] = ROUNDS_INPUT ? flushed(value) : round_bf16(value);
}
