#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
// A row less its mean. Elements are summed in sixteen chains (element mod 16), which are joined by
// halves. All are read before one is written: `to` may be x.
layout(local_size_x = 64) in;
const uint kLanes = 64, kChains = 16;
layout(push_constant) uniform Call {
  Floats x;
  Floats to;
  uint width;
} call;

shared float chains[kChains];

void main() {
  const uint t = gl_LocalInvocationID.x, first = gl_WorkGroupID.x * call.width;
  if (t < kChains) {
    float chain = 0.0;
    for (uint i = t; i < call.width; i += kChains) chain = add(chain, flushed(call.x.v[first + i]));
    chains[t] = chain;
  }
  barrier();
  float sum[kChains];
  [[unroll]] for (uint i = 0; i < kChains; ++i) sum[i] = chains[i];
  [[unroll]] for (uint half_ = kChains / 2u; half_ > 0u; half_ /= 2u)
    [[unroll]] for (uint i = 0; i < half_; ++i) sum[i] = add(sum[i], sum[i + half_]);
  const float exact = div(sum[0], float(call.width)), mean = flushed(exact);
  for (uint i = t; i < call.width; i += kLanes)
    call.to.v[first + i] = flushed(sub(flushed(call.x.v[first + i]), mean));
}
