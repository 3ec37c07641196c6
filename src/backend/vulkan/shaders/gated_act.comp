#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "curves.glsl"
// act(gate) * up of rows gate | up. ACT: the number of the activation (backend/activation.h). The
// result is written twice, as float32 and as the blocks of bf16 that products take.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint ACT = 0;
layout(push_constant) uniform Call {
  Floats gate_up;
  Floats to;
  Words rounded;
  uint width, blocks;
} call;

// x / (1 + e^-y)
float weigh_by_logistic(float x, float y) {
  return flushed(div(x, add(1.0, exp_e(sub(0.0, y)))));
}

float act(float g, float u) {
  if (ACT == 0u) return mul(weigh_by_logistic(g, g), u);
  if (ACT == 1u) {
    const float cubic = fma_once(flushed(mul(0.044715, flushed(mul(g, g)))), g, g);
    return mul(weigh_by_logistic(g, flushed(mul(1.59576912, cubic))), u);
  }
  if (ACT == 2u) {
    const float erf_part = add(1.0, erf_of(flushed(mul(g, 0.707106781))));
    return mul(flushed(mul(flushed(mul(0.5, g)), erf_part)), u);
  }
  const float cut = 7.0 < g ? 7.0 : g;
  const float above = -7.0 > u ? -7.0 : u, within_ = 7.0 < above ? 7.0 : above;
  return mul(weigh_by_logistic(cut, flushed(mul(1.702, cut))), add(within_, 1.0));
}

// A lane has a pair of elements.
void main() {
  const uint row = gl_WorkGroupID.y, pair = gl_GlobalInvocationID.x;
  if (pair >= call.blocks * 16u) return;
  float two[2] = {0.0, 0.0};
  for (uint e = 0; e < 2u; ++e) {
    const uint i = 2u * pair + e, from = row * 2u * call.width + i;
    if (i >= call.width) continue;
    two[e] = flushed(act(flushed(call.gate_up.v[from]), flushed(call.gate_up.v[from + call.width])));
    call.to.v[row * call.width + i] = two[e];
  }
  call.rounded.v[row * call.blocks * 16u + word_of(2u * pair, 0u, 1u, call.blocks)] =
      bf16_pair(two[0], two[1]);
}
