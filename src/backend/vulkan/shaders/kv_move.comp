#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
// Keys and values of some slots to other slots, in order. A lane takes one pair of dimensions of
// one KV head through all moves, so that none overtakes another.
layout(local_size_x = 64) in;
const uint kPageTokens = 16;
layout(push_constant) uniform Call {
  Words k;  // as rope_store.comp lays them out
  Words v;
  Ints moves;  // from, to
  uint count, kv_heads, pairs;
} call;

void main() {
  const uint pair = gl_GlobalInvocationID.x, head = gl_WorkGroupID.y;
  if (pair >= call.pairs) return;
  for (uint i = 0; i < call.count; ++i) {
    const uint from = uint(call.moves.v[2u * i]), to = uint(call.moves.v[2u * i + 1u]);
    const uint from_page = (from / kPageTokens * call.kv_heads + head) * call.pairs * kPageTokens;
    const uint to_page = (to / kPageTokens * call.kv_heads + head) * call.pairs * kPageTokens;
    call.k.v[to_page + pair * kPageTokens + to % kPageTokens] =
        call.k.v[from_page + pair * kPageTokens + from % kPageTokens];
    call.v.v[to_page + to % kPageTokens * call.pairs + pair] =
        call.v.v[from_page + from % kPageTokens * call.pairs + pair];
  }
}
