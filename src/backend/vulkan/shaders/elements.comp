#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "curves.glsl"
// Element by element: x += b, x *= factor, x = factor * tanh(x * inverse).
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint KIND = 0;
layout(push_constant) uniform Call {
  Floats x;
  Floats b;
  uint count;
  float factor, inverse;
} call;

void main() {
  const uint i = gl_GlobalInvocationID.y * gl_NumWorkGroups.x * 64u + gl_GlobalInvocationID.x;
  if (i >= call.count) return;
  const float x = flushed(call.x.v[i]);
  float y;
  if (KIND == 0u)
    y = add(x, flushed(call.b.v[i]));
  else if (KIND == 1u)
    y = mul(x, call.factor);
  else
    y = capped(x, call.factor, call.inverse);
  call.x.v[i] = flushed(y);
}
