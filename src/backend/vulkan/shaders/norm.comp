#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
// RMS norm of a row, after adding to it. The squares are summed in sixteen chains (element mod 16),
// which are joined by halves. All lanes bring a tile of the row, sixteen of them run the chains.
layout(local_size_x = 128) in;
layout(constant_id = 0) const uint ADDS = 0;
const uint kLanes = 128, kTile = 2048, kChains = 16;
layout(push_constant) uniform Call {
  Floats x;  // where ADDS, the sum is written here, too
  Floats delta;
  Floats weight;
  Floats to;
  uint width;
  float eps;
} call;

shared float tile[kTile];
shared float chains[kChains];

// A lane reads what it has written itself, so `to` may be x.
void main() {
  const uint t = gl_LocalInvocationID.x, first = gl_WorkGroupID.x * call.width;
  float squares = 0.0;
  for (uint start = 0; start < call.width; start += kTile) {
    const uint many = min(kTile, call.width - start);
    [[unroll]] for (uint u = 0; u < kTile; u += kLanes) {
      const uint i = u + t, at = first + start + i;
      if (i >= many) continue;
      float a = flushed(call.x.v[at]);
      if (ADDS != 0u) {
        a = flushed(add(a, flushed(call.delta.v[at])));
        call.x.v[at] = a;
      }
      tile[i] = a;
    }
    barrier();
    if (t < kChains)
      for (uint i = t; i < many; i += kChains) squares = fma_once(tile[i], tile[i], squares);
    barrier();
  }
  if (t < kChains) chains[t] = squares;
  barrier();
  float sum[kChains];
  for (uint i = 0; i < kChains; ++i) sum[i] = chains[i];
  for (uint half_ = kChains / 2u; half_ > 0u; half_ /= 2u)
    for (uint i = 0; i < half_; ++i) sum[i] = add(sum[i], sum[i + half_]);
  const float mean = flushed(div(sum[0], float(call.width)));
  const float scale = div(1.0, square_root(add(mean, call.eps)));
  for (uint i = t; i < call.width; i += kLanes) {
    const float a = flushed(call.x.v[first + i]);
    call.to.v[first + i] = flushed(mul(flushed(mul(a, scale)), flushed(call.weight.v[i])));
  }
}
