#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
// x[places[i]] += values[i], in order.
layout(local_size_x = 1) in;
layout(push_constant) uniform Call {
  Floats x;
  Words places;
  Floats values;
  uint count;
} call;

void main() {
  for (uint i = 0; i < call.count; ++i) {
    const uint at = call.places.v[i];
    call.x.v[at] = flushed(add(flushed(call.x.v[at]), flushed(call.values.v[i])));
  }
}
