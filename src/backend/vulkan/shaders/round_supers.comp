#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "code_rounding.glsl"
// What round_codes.comp does, for weights with a super and minima (numerics.md): blocks of 32 codes
// with a scale, and what stands beside minima, x_scale * (sum of a group), as numbers of 16 bits with
// a scale. A workgroup takes a super of 256 k of a row, a lane four k.
layout(local_size_x = 64) in;
layout(push_constant) uniform Call {
  Floats x;
  Words to;         // [rows][32 blocks][quad of 8 codes][block], two words each
  Floats scales;    // [rows][blocks]
  Ints u;           // [rows][groups]
  Floats u_scales;  // [rows][supers]
  uint width, blocks, parts;  // groups of a block: 1 or 2
} call;

const uint kBlockLanes = 8, kBlocks = 8, kMostGroups = 2 * kBlocks;
const float kMost = 32767.0;

shared uint most[64];
shared int sums[64];
shared float of_group[kMostGroups];

void main() {
  const uint t = gl_LocalInvocationID.x, super = gl_WorkGroupID.x, row = gl_WorkGroupID.y;
  const uint k = super * 256u + 4u * t, block = k / 32u;
  float x[4];
  uint greatest = 0u;
  [[unroll]] for (uint i = 0; i < 4; ++i) {
    x[i] = flushed(call.x.v[row * call.width + k + i]);
    greatest = max(greatest, magnitude_bits(x[i]));
  }
  most[t] = greatest;
  barrier();
  for (uint half_ = kBlockLanes / 2u; half_ > 0u; half_ /= 2u) {
    if (t % kBlockLanes < half_) most[t] = max(most[t], most[t + half_]);
    barrier();
  }
  const uint of_block = most[t / kBlockLanes * kBlockLanes];
  const float farthest = uintBitsToFloat(of_block);
  const bool is_finite = of_block < kInfinite;
  const bool is_there = is_finite && farthest >= kLeast;
  const float inverse = is_there ? div(127.0, farthest) : 0.0;
  const float scale = is_there ? flushed(div(farthest, 127.0)) : 0.0;
  int sum = 0;
  uint word = 0u;
  [[unroll]] for (uint i = 0; i < 4; ++i) {
    const int code = is_there ? nearest(mul(x[i], inverse)) : 0;
    sum += code;
    word |= (uint(code) & 255u) << (8u * i);
  }
  call.to.v[word_of_codes(row, call.blocks, k)] = word;
  sums[t] = sum;
  if (t % kBlockLanes == 0u)
    call.scales.v[row * call.blocks + block] = is_finite ? scale : uintBitsToFloat(kNoNumber);
  barrier();
  const uint lanes = kBlockLanes / call.parts;  // of a group
  if (t % lanes == 0u) {
    int total = 0;
    for (uint i = 0; i < lanes; ++i) total += sums[t + i];
    of_group[t / lanes] = flushed(mul(scale, float(total)));
  }
  barrier();
  const uint groups = kBlocks * call.parts;
  if (t >= groups) return;
  bool all_finite = true;
  for (uint b = 0; b < kBlocks; ++b)
    all_finite = all_finite && most[b * kBlockLanes] < kInfinite;
  uint greatest_group = 0u;
  for (uint g = 0; g < groups; ++g)
    greatest_group = max(greatest_group, magnitude_bits(of_group[g]));
  all_finite = all_finite && greatest_group < kInfinite;
  const float farthest_group = uintBitsToFloat(greatest_group);
  const bool has_numbers = all_finite && farthest_group >= kLeast;
  const int number =
      has_numbers ? nearest(mul(of_group[t], div(kMost, farthest_group))) : 0;
  call.u.v[(row * call.blocks * call.parts) + super * groups + t] = number;
  if (t > 0u) return;
  const float u_scale = has_numbers ? flushed(div(farthest_group, kMost)) : 0.0;
  call.u_scales.v[row * (call.blocks / kBlocks) + super] =
      all_finite ? u_scale : uintBitsToFloat(kNoNumber);
}
