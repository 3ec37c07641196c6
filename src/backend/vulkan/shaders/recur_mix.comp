#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "states.glsl"
// The convolution of a layer that keeps a state: of each row and channel the bias and the inputs of
// the tokens before it and its own, weighted, by rising position.
layout(local_size_x = 64) in;
layout(push_constant) uniform Call {
  Floats rows;  // [rows][channels], as are items and tails
  Floats items;
  Floats tails;
  Floats taps;   // [taps][channels]
  Floats bias;   // where has_bias
  Words tokens;  // [rows][taps]
  Floats to;
  uint channels, count, has_bias, has_silu;  // count: of taps
} call;

void main() {
  const uint i = gl_GlobalInvocationID.x, row = gl_WorkGroupID.y;
  if (i >= call.channels) return;
  float sum = call.has_bias != 0u ? flushed(call.bias.v[i]) : 0.0;
  for (uint t = 0; t < call.count; ++t) {
    const uint token = call.tokens.v[row * call.count + t], kind = kind_of(token);
    if (kind == kNothing) continue;
    const uint at = number_of(token) * call.channels + i;
    float x;
    if (kind == kOfRow)
      x = call.rows.v[at];
    else if (kind == kOfItem)
      x = call.items.v[at];
    else
      x = call.tails.v[at];
    sum = add_product(sum, flushed(call.taps.v[t * call.channels + i]), flushed(x));
  }
  if (call.has_silu != 0u) sum = flushed(mul(sum, logistic(sum)));
  call.to.v[row * call.channels + i] = sum;
}
