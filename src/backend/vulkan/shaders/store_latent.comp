#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "kv_formats.glsl"
// Latent attention: the end of one query head of a row is rotated and goes to the end of that head
// of `q`. Or, behind the heads, the row's latent is normalised, what follows it is rotated, and
// both are kept side by side as the key of the one KV head.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint VARIANT = 0;
layout(push_constant) uniform Call {
  Floats kv;    // [rows][dim]
  Floats q_in;  // [rows][heads][q_width]
  Floats norm;
  Floats cosines;
  Floats sines;
  Floats q;  // [rows][heads][dim]
  Words k;
  Floats k_scale;  // of codes
  Ints positions;
  Ints slots;  // -1: not stored
  uint heads, q_width, dim, value_dim, rotary, pairs;
  float eps;
  uint pairs_neighbours;
} call;
#include "head_row.glsl"

void turn_query(uint t, uint row, uint h) {
  const uint from = (row * call.heads + h + 1u) * call.q_width - call.rotary;
  for (uint i = t; i < call.rotary; i += 64u) head[i] = flushed(call.q_in.v[from + i]);
  barrier();
  rotate(t, 0u, row, call.pairs_neighbours != 0u);
  barrier();
  const uint to = (row * call.heads + h) * call.dim + call.value_dim;
  for (uint i = t; i < call.rotary; i += 64u) call.q.v[to + i] = turned[i];
}

void main() {
  const uint t = gl_LocalInvocationID.x, row = gl_WorkGroupID.y, h = gl_WorkGroupID.x;
  if (h < call.heads) {
    turn_query(t, row, h);
    return;
  }
  const int slot = call.slots.v[row];
  if (slot < 0) return;
  for (uint i = t; i < call.dim; i += 64u) head[i] = flushed(call.kv.v[row * call.dim + i]);
  barrier();
  normalise(t, call.value_dim, call.eps, call.norm);
  keep(t, 0u, call.value_dim);
  rotate(t, call.value_dim, row, call.pairs_neighbours != 0u);
  barrier();
  const uint page = uint(slot) / kPageTokens, place = uint(slot) % kPageTokens;
  const uint words = call.dim / per_word(KIND), first = page * words * kPageTokens;
  const Scaled of = scaled_row(t, call.dim);
  if (is_code(KIND) && t == 0u) call.k_scale.v[uint(slot)] = of.scale;
  for (uint i = t; i < words; i += 64u)
    call.k.v[first + i * kPageTokens + place] = word_of_row(i, of.inverse);
}
