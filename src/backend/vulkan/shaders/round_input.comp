#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
// Rows of float32, `stride` from one to the next -> rows of blocks of bf16, with zeros behind the
// last of `width` up to a multiple of 32.
layout(local_size_x = 64) in;
layout(push_constant) uniform Call {
  Floats x;
  Words to;
  Ints order;         // where has_order: the column of x at each place
  uint width, stride, pairs;  // pairs: of a row of `to`
  uint has_order;
} call;

float value_at(uint row, uint k) {
  if (k >= call.width) return 0.0;
  return call.x.v[row * call.stride + (call.has_order != 0u ? uint(call.order.v[k]) : k)];
}

void main() {
  const uint row = gl_WorkGroupID.y, pair = gl_GlobalInvocationID.x;
  if (pair >= call.pairs) return;
  const uint first = 2u * pair;
  call.to.v[row * call.pairs + word_of(first, 0u, 1u, call.pairs / 16u)] =
      bf16_pair(value_at(row, first), value_at(row, first + 1u));
}
