#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "code_rounding.glsl"
// Rows of float32 -> rows of blocks of codes of 8 bits, as linear_rounded.comp takes them, with the
// scale and the sum of the codes of each group (numerics.md). A workgroup takes a group of a row.
// Behind the last element are zeros up to a multiple of 32.
layout(local_size_x = 64) in;
const uint kLanes = 64;
layout(push_constant) uniform Call {
  Floats x;
  Words to;       // [rows][32 blocks][quad of 8 codes][block], two words each
  Floats scales;  // [rows][groups]
  Ints sums;
  Ints order;  // where has_order: the column of x at each place
  uint width, blocks, group, groups, has_order;
} call;

shared uint most[kLanes];
shared int sums[kLanes];

float value_at(uint row, uint k) {
  if (k >= call.width) return 0.0;
  return flushed(call.x.v[row * call.width + (call.has_order != 0u ? uint(call.order.v[k]) : k)]);
}

void main() {
  const uint t = gl_LocalInvocationID.x, g = gl_WorkGroupID.x, row = gl_WorkGroupID.y;
  const uint end = min((g + 1u) * call.group, call.blocks * 32u);
  uint greatest = 0u;
  for (uint k = g * call.group + t; k < end; k += kLanes)
    greatest = max(greatest, magnitude_bits(value_at(row, k)));
  most[t] = greatest;
  barrier();
  for (uint half_ = kLanes / 2u; half_ > 0u; half_ /= 2u) {
    if (t < half_) most[t] = max(most[t], most[t + half_]);
    barrier();
  }
  const float farthest = uintBitsToFloat(most[0]);
  const bool is_finite = most[0] < kInfinite;
  const bool is_there = is_finite && farthest >= kLeast;
  const float inverse = is_there ? div(127.0, farthest) : 0.0;
  int sum = 0;
  for (uint k = g * call.group + 4u * t; k < end; k += 4u * kLanes) {
    uint word = 0u;
    [[unroll]] for (uint i = 0; i < 4; ++i) {
      const int code = is_there ? nearest(mul(value_at(row, k + i), inverse)) : 0;
      sum += code;
      word |= (uint(code) & 255u) << (8u * i);
    }
    call.to.v[word_of_codes(row, call.blocks, k)] = word;
  }
  sums[t] = sum;
  barrier();
  for (uint half_ = kLanes / 2u; half_ > 0u; half_ /= 2u) {
    if (t < half_) sums[t] += sums[t + half_];
    barrier();
  }
  if (t > 0u) return;
  const float scale = is_there ? flushed(div(farthest, 127.0)) : 0.0;
  call.scales.v[row * call.groups + g] = is_finite ? scale : uintBitsToFloat(kNoNumber);
  call.sums.v[row * call.groups + g] = sums[0];
}
