#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "halves.glsl"
// Rows of a table, by token: rows of float32, of bf16 or fp16, or weights of a linear of those.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint KIND = 0;
const uint kBf16 = 0, kFloats = 1, kWeights = 2, kF16 = 3, kWeightsF16 = 4, kWeightsF32 = 5;
layout(push_constant) uniform Call {
  Words table;
  Ints tokens;
  Floats out_rows;
  uint width, stride;  // stride: elements from row to row of the table; of 16 bits an even number
} call;

void main() {
  const uint row = gl_WorkGroupID.y, i = gl_GlobalInvocationID.x;
  if (i >= call.width) return;
  const uint token = uint(call.tokens.v[row]), element = token * call.stride + i;
  float value;
  if (KIND == kFloats) {
    value = uintBitsToFloat(call.table.v[element]);
  } else if (KIND == kWeightsF32) {  // as linear_chain.comp has them
    value = uintBitsToFloat(call.table.v[(token / 64u * call.stride + i) * 64u + token % 64u]);
  } else {
    uint word = element / 2u;
    if (KIND == kWeights)
      word = token / 4u * 2u * call.stride + word_of(i, token % 4u, 4u, call.stride / 32u);
    if (KIND == kWeightsF16)  // the same
      word = (token / 64u * call.stride / 2u + i / 2u) * 64u + token % 64u;
    const uint pair = call.table.v[word];
    const uint half_ = (element & 1u) == 0u ? pair & 0xffffu : pair >> 16;
    const bool is_f16 = KIND == kF16 || KIND == kWeightsF16;
    value = is_f16 ? f16_value(half_) : uintBitsToFloat(half_ << 16);
  }
  call.out_rows.v[row * call.width + i] = value;
}
