#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "kv_formats.glsl"
// Keys and values of some slots to other slots, in order. A lane takes one word of a row of one KV
// head through all moves, so that none overtakes another; the first one takes the scales, too.
layout(local_size_x = 64) in;
layout(push_constant) uniform Call {
  Words k;  // as kv_formats.glsl lays them out
  Words v;
  Words k_scale;
  Words v_scale;
  Ints moves;  // from, to
  uint count, kv_heads, words, has_scales, has_values;
} call;

void main() {
  const uint word = gl_GlobalInvocationID.x, head = gl_WorkGroupID.y;
  if (word >= call.words) return;
  for (uint i = 0; i < call.count; ++i) {
    const uint from = uint(call.moves.v[2u * i]), to = uint(call.moves.v[2u * i + 1u]);
    const uint from_head = (from / kPageTokens * call.kv_heads + head) * kPageTokens;
    const uint to_head = (to / kPageTokens * call.kv_heads + head) * kPageTokens;
    const uint from_place = from % kPageTokens, to_place = to % kPageTokens;
    call.k.v[to_head * call.words + word * kPageTokens + to_place] =
        call.k.v[from_head * call.words + word * kPageTokens + from_place];
    const bool has_scales = call.has_scales != 0u && word == 0u;
    if (has_scales) call.k_scale.v[to_head + to_place] = call.k_scale.v[from_head + from_place];
    if (call.has_values == 0u) continue;
    call.v.v[to_head * call.words + to_place * call.words + word] =
        call.v.v[from_head * call.words + from_place * call.words + word];
    if (has_scales) call.v_scale.v[to_head + to_place] = call.v_scale.v[from_head + from_place];
  }
}
