#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "kv_formats.glsl"
// One head of one row of q | k | v: its norm and rotation; queries to `q`, keys and values to their
// places in the cache, as kv_formats.glsl lays it out.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint VARIANT = 0;
layout(push_constant) uniform Call {
  Floats qkv;
  Floats cosines;
  Floats sines;
  Floats q_norm;
  Floats k_norm;
  Floats q;
  Words k;
  Words v;
  Floats k_scale;  // of codes
  Floats v_scale;
  Ints positions;
  Ints slots;  // -1: not stored
  uint heads, kv_heads, dim, rotary, pairs;
  float eps;
  uint has_norm;  // 1: of queries, 2: of keys
} call;
#include "head_row.glsl"

void main() {
  const uint t = gl_LocalInvocationID.x, row = gl_WorkGroupID.y, h = gl_WorkGroupID.x;
  const uint width = (call.heads + 2u * call.kv_heads) * call.dim;
  const bool is_query = h < call.heads, is_value = h >= call.heads + call.kv_heads;
  for (uint i = t; i < call.dim; i += 64u)
    head[i] = flushed(call.qkv.v[row * width + h * call.dim + i]);
  barrier();
  if (is_value) {
    keep(t, 0u, call.dim);
  } else {
    if ((call.has_norm & 1u) != 0u && is_query) normalise(t, call.dim, call.eps, call.q_norm);
    if ((call.has_norm & 2u) != 0u && !is_query) normalise(t, call.dim, call.eps, call.k_norm);
    rotate(t, 0u, row, false);
    keep(t, call.rotary, call.dim);
  }
  barrier();
  if (is_query) {
    for (uint i = t; i < call.dim; i += 64u)
      call.q.v[(row * call.heads + h) * call.dim + i] = turned[i];
    return;
  }
  const int slot = call.slots.v[row];
  if (slot < 0) return;
  const uint page = uint(slot) / kPageTokens, place = uint(slot) % kPageTokens;
  const uint kv_head = (h - call.heads) % call.kv_heads, words = call.dim / per_word(KIND);
  const uint head_at = page * call.kv_heads + kv_head, first = head_at * words * kPageTokens;
  const Scaled of = scaled_row(t, call.dim);
  if (is_code(KIND) && t == 0u) {
    if (is_value)
      call.v_scale.v[head_at * kPageTokens + place] = of.scale;
    else
      call.k_scale.v[head_at * kPageTokens + place] = of.scale;
  }
  for (uint i = t; i < words; i += 64u) {
    const uint word = word_of_row(i, of.inverse);
    if (is_value)
      call.v.v[first + place * words + i] = word;
    else
      call.k.v[first + i * kPageTokens + place] = word;
  }
}
