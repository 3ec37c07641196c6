#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "states.glsl"
// dt of each row and head, and the sum G of what its state decays by since its block began. A lane
// goes through the rows of a sequence, for one head.
layout(local_size_x = 64) in;
layout(push_constant) uniform Call {
  Floats dt_in;  // [rows][heads], as are dt and decays
  Floats bias;   // [heads]
  Floats rate;
  Floats items;  // [items][heads]: G
  Words before;  // [rows]: the token before in the block
  Words seqs;    // of each: its first row, their number
  Floats dt;
  Floats decays;
  uint heads;
  float least, most;
} call;

void main() {
  const uint h = gl_GlobalInvocationID.x, seq = gl_WorkGroupID.y;
  if (h >= call.heads) return;
  const uint first = call.seqs.v[2u * seq], end = first + call.seqs.v[2u * seq + 1u];
  const float bias = flushed(call.bias.v[h]), rate = flushed(call.rate.v[h]);
  for (uint row = first; row < end; ++row) {
    float dt = softplus(flushed(add(flushed(call.dt_in.v[row * call.heads + h]), bias)));
    if (call.most > 0.0) {
      if (dt < call.least) dt = call.least;
      if (call.most < dt) dt = call.most;
    }
    const uint token = call.before.v[row], at = number_of(token) * call.heads + h;
    float before = 0.0;
    if (kind_of(token) == kOfRow) before = call.decays.v[at];
    if (kind_of(token) == kOfItem) before = call.items.v[at];
    call.dt.v[row * call.heads + h] = dt;
    call.decays.v[row * call.heads + h] = flushed(add(flushed(mul(rate, dt)), before));
  }
}
