#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "states.glsl"
// Heads of queries and keys divided by their length, queries multiplied by a factor, too. A lane
// has a head.
layout(local_size_x = 64) in;
layout(push_constant) uniform Call {
  Floats mixed;  // [rows][channels]
  uint channels, heads, dim, query, key;
  float factor;
} call;

void main() {
  const uint h = gl_GlobalInvocationID.x, row = gl_WorkGroupID.y;
  if (h >= 2u * call.heads) return;
  const bool is_query = h < call.heads;
  const uint first = is_query ? call.query : call.key;
  const uint at = row * call.channels + first + h % call.heads * call.dim;
  const float sum = dot_of(call.mixed, at, call.mixed, at, call.dim);
  const float length_ = square_root(flushed(add(sum, 1e-6)));
  const float inverse = flushed(mul(flushed(div(1.0, length_)), is_query ? call.factor : 1.0));
  for (uint d = 0; d < call.dim; ++d)
    call.mixed.v[at + d] = flushed(mul(call.mixed.v[at + d], inverse));
}
