#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "curves.glsl"
// act(gate) * up of rows gate | up. ACT: the number of the activation (backend/activation.h).
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint ACT = 0;
layout(push_constant) uniform Call {
  Floats gate_up;
  Floats to;
  uint width;
} call;

// x / (1 + e^-y)
float weigh_by_logistic(float x, float y) {
  return flushed(div(x, add(1.0, exp_e(sub(0.0, y)))));
}

void main() {
  const uint row = gl_WorkGroupID.y, i = gl_GlobalInvocationID.x;
  if (i >= call.width) return;
  const uint first = row * 2u * call.width + i;
  const float g = flushed(call.gate_up.v[first]), u = flushed(call.gate_up.v[first + call.width]);
  float y;
  if (ACT == 0u) {
    y = mul(weigh_by_logistic(g, g), u);
  } else if (ACT == 1u) {
    const float cubic = fma_once(flushed(mul(0.044715, flushed(mul(g, g)))), g, g);
    y = mul(weigh_by_logistic(g, flushed(mul(1.59576912, cubic))), u);
  } else if (ACT == 2u) {
    const float erf_part = add(1.0, erf_of(flushed(mul(g, 0.707106781))));
    y = mul(flushed(mul(flushed(mul(0.5, g)), erf_part)), u);
  } else {
    const float cut = 7.0 < g ? 7.0 : g;
    const float above = -7.0 > u ? -7.0 : u, within_ = 7.0 < above ? 7.0 : above;
    y = mul(weigh_by_logistic(cut, flushed(mul(1.702, cut))), add(within_, 1.0));
  }
  call.to.v[row * call.width + i] = flushed(y);
}
