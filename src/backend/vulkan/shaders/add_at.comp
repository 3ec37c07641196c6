#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
// Adds values to elements of x: to places[i] those of [starts[i], starts[i + 1]), in order. No two
// places are the same.
layout(local_size_x = 64) in;
layout(push_constant) uniform Call {
  Floats x;
  Words places;
  Words starts;
  Floats values;
  uint count;  // of places
} call;

void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i >= call.count) return;
  const uint at = call.places.v[i], end = call.starts.v[i + 1u];
  float sum = flushed(call.x.v[at]);
  for (uint j = call.starts.v[i]; j < end; ++j) sum = flushed(add(sum, flushed(call.values.v[j])));
  call.x.v[at] = sum;
}
