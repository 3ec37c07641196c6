#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "curves.glsl"
#include "lanes.glsl"
// Element by element: x += b, x *= factor, x = factor * tanh(x * inverse), and, of rows of `width`,
// x *= 1 / (1 + e^-b[row]). And gates, x *= curve(b): the logistic function, silu, none.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint KIND = 0;
layout(push_constant) uniform Call {
  Floats x;
  Floats b;
  uint count;
  float factor, inverse;
  uint width;
} call;

float gate(float g) {
  if (KIND == 4u) return logistic(g);
  return KIND == 5u ? flushed(mul(g, logistic(g))) : g;
}

void main() {
  const uint i = gl_GlobalInvocationID.y * gl_NumWorkGroups.x * 64u + gl_GlobalInvocationID.x;
  if (i >= call.count) return;
  const float x = flushed(call.x.v[i]);
  float y;
  if (KIND == 0u)
    y = add(x, flushed(call.b.v[i]));
  else if (KIND == 1u)
    y = mul(x, call.factor);
  else if (KIND == 2u)
    y = capped(x, call.factor, call.inverse);
  else if (KIND == 3u)
    y = mul(x, flushed(div(1.0, add(1.0, exp_e(sub(0.0, flushed(call.b.v[i / call.width])))))));
  else
    y = mul(x, gate(flushed(call.b.v[i])));
  call.x.v[i] = flushed(y);
}
