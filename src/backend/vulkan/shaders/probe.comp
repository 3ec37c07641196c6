#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
// What the device's arithmetic makes of triples a, b, c: fma, fma_once, quotient, root, product,
// sum.
layout(local_size_x = 64) in;
layout(push_constant) uniform Call {
  Floats triples;
  Floats to;
  uint count;
} call;

void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i >= call.count) return;
  const float a = call.triples.v[3u * i], b = call.triples.v[3u * i + 1u];
  const float c = call.triples.v[3u * i + 2u];
  precise float direct = fma(a, b, c);
  call.to.v[6u * i] = direct;
  call.to.v[6u * i + 1u] = fma_once(a, b, c);
  call.to.v[6u * i + 2u] = div(a, b);
  call.to.v[6u * i + 3u] = square_root(abs(c));
  call.to.v[6u * i + 4u] = mul(a, b);
  call.to.v[6u * i + 5u] = add(a, c);
}
