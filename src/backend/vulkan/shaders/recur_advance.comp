#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "states.glsl"
#include "state_block.glsl"
// States behind blocks that are complete, of one head: from the items of a page and the state
// before them.
layout(local_size_x = 64) in;
layout(push_constant) uniform Call {
  Layer layer;
  Words blocks;  // of each: its page, whether there is a state before it, the page of the next
  uint items;    // of a page
} call;

void main() {
  Layer at = call.layer;
  const uint t = gl_LocalInvocationID.x, h = gl_WorkGroupID.x, block = 3u * gl_WorkGroupID.y;
  const uint page = call.blocks.v[block], size = at.key_dim * at.value_dim;
  if (t < kTokens) path[t] = kOfItem << 30 | (page * call.items + t);
  barrier();
  advance(at, t, h, kTokens, call.blocks.v[block + 1u] != 0u, at.state,
          (page * at.heads + h) * size, at.state,
          (call.blocks.v[block + 2u] * at.heads + h) * size);
}
