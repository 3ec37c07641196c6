#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
// RMS norm of a row, after adding to it. The squares are summed in sixteen chains (element mod 16),
// which are joined by halves.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint ADDS = 0;
layout(push_constant) uniform Call {
  Floats x;  // where ADDS, the sum is written here, too
  Floats delta;
  Floats weight;
  Floats to;
  uint width;
  float eps;
} call;

shared float chains[16];

float value(uint at) {
  const float x = flushed(call.x.v[at]);
  return ADDS == 0u ? x : flushed(add(x, flushed(call.delta.v[at])));
}

void main() {
  const uint t = gl_LocalInvocationID.x, first = gl_WorkGroupID.x * call.width;
  if (t < 16u) {
    float squares = 0.0;
    for (uint i = t; i < call.width; i += 16u) {
      const float a = value(first + i);
      squares = fma_once(a, a, squares);
    }
    chains[t] = squares;
  }
  barrier();  // everything is read before anything is written
  float sum[16];
  for (uint i = 0; i < 16u; ++i) sum[i] = chains[i];
  for (uint half_ = 8u; half_ > 0u; half_ /= 2u)
    for (uint i = 0; i < half_; ++i) sum[i] = add(sum[i], sum[i + half_]);
  const float mean = flushed(div(sum[0], float(call.width)));
  const float scale = div(1.0, square_root(add(mean, call.eps)));
  for (uint i = t; i < call.width; i += 64u) {
    const float a = value(first + i);
    if (ADDS != 0u) call.x.v[first + i] = a;
    call.to.v[first + i] = flushed(mul(flushed(mul(a, scale)), flushed(call.weight.v[i])));
  }
}
