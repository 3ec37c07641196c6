#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "search.glsl"
// The greatest value of each part of rows that are searched: where find_tokens.comp need not look.
layout(local_size_x = 128) in;
const uint kLanes = 128, kWide = 64;
layout(push_constant) uniform Call {
  Floats logits;
  Searches rows;
  Floats tops;  // [searches][parts]
  uint width, parts, part;  // part: tokens of one, 4 or kWide
} call;

shared float greatest[kLanes];

void main() {
  const uint t = gl_LocalInvocationID.x, number = gl_WorkGroupID.y;
  const uint quad = gl_GlobalInvocationID.x;
  const Search s = call.rows.v[number];
  float top = -infinity();
  if (quad * 4u < call.width) {
    const vec4 x = values_of(s, call.logits, call.width, quad);
    for (uint i = 0; i < 4u; ++i) top = x[i] > top ? x[i] : top;
  }
  const uint lanes = call.part / 4u;
  greatest[t] = top;
  for (uint half_ = kWide / 8u; half_ > 0u; half_ /= 2u) {
    barrier();
    const bool joins = half_ < lanes && t % lanes < half_;
    if (joins && greatest[t + half_] > greatest[t]) greatest[t] = greatest[t + half_];
  }
  const uint part = quad / lanes;
  if (t % lanes == 0u && part < call.parts) call.tops.v[number * call.parts + part] = greatest[t];
}
