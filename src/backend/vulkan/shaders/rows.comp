#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
// Rows of a table, by token: rows of float32 or of bf16, or weights of a linear.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint KIND = 0;
const uint kHalves = 0, kFloats = 1, kWeights = 2;
layout(push_constant) uniform Call {
  Words table;
  Ints tokens;
  Floats out_rows;
  uint width, stride;  // stride: elements from row to row of the table; of bf16 an even number
} call;

void main() {
  const uint row = gl_WorkGroupID.y, i = gl_GlobalInvocationID.x;
  if (i >= call.width) return;
  const uint token = uint(call.tokens.v[row]), element = token * call.stride + i;
  float value;
  if (KIND == kFloats) {
    value = uintBitsToFloat(call.table.v[element]);
  } else {
    uint word = element / 2u;
    if (KIND == kWeights)
      word = token / 4u * 2u * call.stride + word_of(i, token % 4u, 4u, call.stride / 32u);
    const uint pair = call.table.v[word];
    value = (element & 1u) == 0u ? low_half(pair) : high_half(pair);
  }
  call.out_rows.v[row * call.width + i] = value;
}
