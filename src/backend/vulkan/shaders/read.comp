#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
// Reads memory as fast as the device lets it: how many bytes a second that are is the roof of
// products of few rows.
layout(local_size_x = 64) in;
const uint kQuads = 8;  // of a lane
layout(push_constant) uniform Call {
  Quads from;
  Words to;
  uint first;  // workgroup
} call;

void main() {
  const uint start = (call.first + gl_WorkGroupID.x) * 64u * kQuads + gl_LocalInvocationID.x;
  uvec4 quads[kQuads];
  [[unroll]] for (uint i = 0; i < kQuads; ++i) quads[i] = call.from.v[start + i * 64u];
  uvec4 all = uvec4(0);
  [[unroll]] for (uint i = 0; i < kQuads; ++i) all |= quads[i];
  // Never so: the memory is zero. It keeps the reads from being left out.
  if (all != uvec4(0)) call.to.v[0] = all.x;
}
