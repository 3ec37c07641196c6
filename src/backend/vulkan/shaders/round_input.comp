#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
// Rows of float32 -> rows of blocks of bf16, with zeros behind the last up to a multiple of 32.
layout(local_size_x = 64) in;
layout(push_constant) uniform Call {
  Floats x;
  Words to;
  uint width, pairs;  // pairs: of a row of `to`
} call;

void main() {
  const uint row = gl_WorkGroupID.y, pair = gl_GlobalInvocationID.x;
  if (pair >= call.pairs) return;
  const uint first = 2u * pair, from = row * call.width + first;
  const float low = first < call.width ? call.x.v[from] : 0.0;
  const float high = first + 1u < call.width ? call.x.v[from + 1u] : 0.0;
  call.to.v[row * call.pairs + word_of(first, 0u, 1u, call.pairs / 16u)] = bf16_pair(low, high);
}
