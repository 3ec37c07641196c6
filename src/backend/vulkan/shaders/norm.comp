#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
// RMS norm of a row, after adding to it. The squares are summed in sixteen chains (element mod 16),
// which are joined by halves. All lanes bring a tile of the row, sixteen of them run the chains.
// The result is written twice, as float32 and as the blocks of bf16 that products take.
layout(local_size_x = 128) in;
layout(constant_id = 0) const uint ADDS = 0;
const uint kLanes = 128, kChains = 16, kPairs = 8;  // pairs of elements: a lane's, of a tile
const uint kTile = 2 * kPairs * kLanes;
layout(push_constant) uniform Call {
  Floats x;  // where ADDS, the sum is written here, too
  Floats delta;
  Floats weight;
  Floats to;
  Words rounded;
  uint width;
  float eps;
  uint groups;  // Row r is multiplied by the weights of group r % groups.
} call;

shared float tile[kTile];
shared float chains[kChains];

// Where a lane's element e of a tile lies. What is read for all comes before what is written: the
// memory may be the same, and then each read would wait for the write before it.
uint place(uint e) { return (e / 2u * kLanes + gl_LocalInvocationID.x) * 2u + e % 2u; }
uint within(uint i) { return min(i, call.width - 1u); }

// A lane reads what it has written itself, so `to` may be x.
void main() {
  const uint t = gl_LocalInvocationID.x, row = gl_WorkGroupID.x, first = row * call.width;
  float squares = 0.0;
  for (uint start = 0; start < call.width; start += kTile) {
    const uint many = min(kTile, call.width - start);
    float a[2 * kPairs], d[2 * kPairs];
    [[unroll]] for (uint e = 0; e < 2u * kPairs; ++e) {
      a[e] = call.x.v[first + within(start + place(e))];
      if (ADDS != 0u) d[e] = call.delta.v[first + within(start + place(e))];
    }
    [[unroll]] for (uint e = 0; e < 2u * kPairs; ++e) {
      float sum = flushed(a[e]);
      if (ADDS != 0u) sum = flushed(add(sum, flushed(d[e])));
      if (place(e) >= many) continue;
      tile[place(e)] = sum;
      if (ADDS != 0u) call.x.v[first + start + place(e)] = sum;
    }
    barrier();
    if (t < kChains)
      for (uint i = t; i < many; i += 8u * kChains) {
        float some[8];
        [[unroll]] for (uint u = 0; u < 8; ++u) some[u] = tile[i + u * kChains];
        [[unroll]] for (uint u = 0; u < 8; ++u)
          if (i + u * kChains < many) squares = fma_once(some[u], some[u], squares);
      }
    barrier();
  }
  if (t < kChains) chains[t] = squares;
  barrier();
  float sum[kChains];
  [[unroll]] for (uint i = 0; i < kChains; ++i) sum[i] = chains[i];
  [[unroll]] for (uint half_ = kChains / 2u; half_ > 0u; half_ /= 2u)
    [[unroll]] for (uint i = 0; i < half_; ++i) sum[i] = add(sum[i], sum[i + half_]);
  const float mean = flushed(div(sum[0], float(call.width)));
  const float scale = div(1.0, square_root(add(mean, call.eps)));
  const uint blocks = (call.width + 31u) / 32u;
  for (uint start = 0; start < blocks * 32u; start += kTile) {
    float a[2 * kPairs], w[2 * kPairs];
    [[unroll]] for (uint e = 0; e < 2u * kPairs; ++e) {
      a[e] = call.x.v[first + within(start + place(e))];
      w[e] = call.weight.v[row % call.groups * call.width + within(start + place(e))];
    }
    [[unroll]] for (uint e = 0; e < 2u * kPairs; e += 2u) {
      const uint i = start + place(e);
      float low = flushed(mul(flushed(mul(flushed(a[e]), scale)), flushed(w[e])));
      float high = flushed(mul(flushed(mul(flushed(a[e + 1u]), scale)), flushed(w[e + 1u])));
      if (i < call.width) call.to.v[first + i] = low; else low = 0.0;
      if (i + 1u < call.width) call.to.v[first + i + 1u] = high; else high = 0.0;
      if (i < blocks * 32u)
        call.rounded.v[row * blocks * 16u + word_of(i, 0u, 1u, blocks)] = bf16_pair(low, high);
    }
  }
}
