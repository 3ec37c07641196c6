#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
// Rows of a table, by token: of pairs of bf16, or of float32.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint IS_FLOAT = 0;
layout(push_constant) uniform Call {
  Words table;
  Ints tokens;
  Floats out_rows;
  uint width, stride;  // stride: elements from row to row of the table, even where they are bf16
} call;

void main() {
  const uint row = gl_WorkGroupID.y, i = gl_GlobalInvocationID.x;
  if (i >= call.width) return;
  const uint element = uint(call.tokens.v[row]) * call.stride + i;
  float value;
  if (IS_FLOAT != 0u) {
    value = uintBitsToFloat(call.table.v[element]);
  } else {
    const uint pair = call.table.v[element >> 1];
    value = (element & 1u) == 0u ? low_half(pair) : high_half(pair);
  }
  call.out_rows.v[row * call.width + i] = value;
}
