#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "matrices.glsl"
// Products with weights of bf16 (linear.glsl), which lie as common.glsl lays out blocks:
// [groups][blocks] of kCols columns.
layout(constant_id = 0) const uint ROWS = 1;
const uint kCols = 4;
layout(push_constant) uniform Call {
  WEIGHTS_OF_CALL(FLOATS_OF_CALL)
  Quads x;  // blocks, too: [rows][blocks] of one column
  Floats y;
  uint blocks, columns, rows, has_bias;
  uint first;  // of the workgroups' columns: a call takes as many as the device lets it
  OF_CHOICE
} call;
#include "linear.glsl"

uvec4 w[kQuads][kCols];  // of the lane's block

void load_quad(uint group, uint start, uint many, uint lane, uint i) {
  Quads from = Quads(WEIGHTS.codes);
  const uint at = ((group * call.blocks + start) * kQuads + i * many) * kCols + lane;
  [[unroll]] for (uint c = 0; c < kCols; ++c) w[i][c] = from.v[at + c * many];
}
float low_of(uint i, uint j, uint c) { return low_half(w[i][c][j]); }
float high_of(uint i, uint j, uint c) { return high_half(w[i][c][j]); }
