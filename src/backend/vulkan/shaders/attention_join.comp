#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "curves.glsl"
// Joins the states of one query head's parts, by ascending positions: blocks make spans, spans
// make the result. What attention.comp does where one workgroup does all of it.
layout(local_size_x = 64) in;
#include "attention_state.glsl"

void main() {
  const uint t = gl_LocalInvocationID.x, h = gl_WorkGroupID.x, row = gl_WorkGroupID.y;
  const uint first = low_of(row) / OF_PART, last = position_of(row) / OF_PART;
  State total = nothing_seen(), span = nothing_seen();
  for (uint part = first; part <= last; ++part) {
    const uint from = part_at(row, h, part - first);
    State state;
    state.m = call.parts.v[from];
    state.l = call.parts.v[from + 1u];
    for (uint p = 0; p < 2u * kPairs; ++p) {
      const uint d = 2u * (t + 64u * (p / 2u)) + p % 2u;
      state.o[p] = d < call.value_dim ? call.parts.v[from + 2u + d] : 0.0;
    }
    if (part * OF_PART % kSpan == 0u) {
      join(total, span);
      span = nothing_seen();
    }
    join(span, state);
  }
  join(total, span);
  finish(t, row, h, total);
}
