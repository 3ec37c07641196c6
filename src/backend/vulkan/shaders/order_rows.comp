#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "matrix_at.glsl"
// Rows of an input in the order of the columns of the matrix that each row of a result has chosen.
layout(local_size_x = 64) in;
layout(push_constant) uniform Call {
  Matrices matrices;
  Ints chosen;
  Floats x;
  Floats to;
  uint each, width;
} call;

void main() {
  const uint k = gl_GlobalInvocationID.x, row = gl_WorkGroupID.y;
  if (k >= call.width) return;
  const uint from = uint(call.matrices.v[uint(call.chosen.v[row])].order.v[k]);
  call.to.v[row * call.width + k] = call.x.v[row / call.each * call.width + from];
}
