#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
// Row r of the result = the sum over j, in order, of weights[r][j] times row r * each + j of the
// parts: each product and each sum is rounded once.
layout(local_size_x = 64) in;
layout(push_constant) uniform Call {
  Floats parts;    // [rows * each][width]
  Floats weights;  // [rows][each]
  Floats to;
  uint width, each;
} call;

void main() {
  const uint i = gl_GlobalInvocationID.x, row = gl_WorkGroupID.y, first = row * call.each;
  if (i >= call.width) return;
  float sum = 0.0;
  for (uint j = 0; j < call.each; ++j) {
    const float part = call.parts.v[(first + j) * call.width + i];
    const float product = flushed(mul(flushed(part), flushed(call.weights.v[first + j])));
    sum = j == 0u ? product : flushed(add(sum, product));
  }
  call.to.v[row * call.width + i] = sum;
}
