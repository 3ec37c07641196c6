#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "curves.glsl"
// Logits that find_tokens.comp has found, best first, become probabilities: the softmax over their
// row. Its sum has sixteen chains (token mod 16), which are joined by halves. All lanes make a tile
// of powers, sixteen of them run the chains.
layout(local_size_x = 128) in;
const uint kLanes = 128, kChains = 16, kTile = 16 * kLanes;
layout(push_constant) uniform Call {
  Floats logits;
  Words found;  // [rows][1 + 2 * most]
  uint width, most;
} call;

shared float tile[kTile];
shared float chains[kChains];

void main() {
  const uint t = gl_LocalInvocationID.x, row = gl_WorkGroupID.x;
  const uint first = row * (1u + 2u * call.most) + 1u;
  const float top = flushed(uintBitsToFloat(call.found.v[first + 1u]));
  float chain = 0.0;
  for (uint start = 0; start < call.width; start += kTile) {
    for (uint i = t; i < kTile; i += kLanes) {
      const bool is_in = start + i < call.width;
      const float x = flushed(call.logits.v[row * call.width + (is_in ? start + i : 0u)]);
      tile[i] = is_in ? exp_e(flushed(sub(x, top))) : 0.0;
    }
    barrier();
    if (t < kChains)
      for (uint i = t; i < kTile; i += kChains) chain = add(chain, tile[i]);
    barrier();
  }
  if (t < kChains) chains[t] = chain;
  barrier();
  float sum[kChains];
  [[unroll]] for (uint i = 0; i < kChains; ++i) sum[i] = chains[i];
  [[unroll]] for (uint half_ = kChains / 2u; half_ > 0u; half_ /= 2u)
    [[unroll]] for (uint i = 0; i < half_; ++i) sum[i] = add(sum[i], sum[i + half_]);
  for (uint n = t; n < call.most; n += kLanes) {
    const uint at = first + 2u * n + 1u;
    const float x = flushed(uintBitsToFloat(call.found.v[at]));
    call.found.v[at] = floatBitsToUint(flushed(div(exp_e(flushed(sub(x, top))), sum[0])));
  }
}
