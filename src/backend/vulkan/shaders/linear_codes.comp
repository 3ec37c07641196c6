#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
// Products with weights of codes (codes.glsl) that keep their input at bf16: a weight is rounded to
// bf16, then it is as in linear.comp.
layout(push_constant) uniform Call {
  Words codes;
  Words scales;
  Words minima;
  Words multiples;
  Words zeros;
  Quads x;  // as common.glsl lays out blocks, [rows][blocks] of one column
  Floats bias;
  Floats y;
  uint blocks, columns, rows, has_bias;
  uint first;  // of the workgroups' columns
  uint blocks_per_scale;
} call;
#include "codes.glsl"
#include "linear.glsl"

// Of the lane's block.
uint words[kMostWords][kCols];
float scales[2][kCols], minima[2][kCols];
int zeros[kCols];

void load_quad(uint group, uint start, uint many, uint lane, uint i) {
  if (i > 0u) return;
  [[unroll]] for (uint c = 0; c < kCols; ++c) {
    [[unroll]] for (uint p = 0; p < BITS; ++p)
      words[p][c] = call.codes.v[code_place(group, start, many, p, c, lane)];
    [[unroll]] for (uint part = 0; part < kParts; ++part) {
      scales[part][c] = scale_of(group, start + lane, c, part);
      minima[part][c] = minimum_of(group, start + lane, c, part);
    }
    zeros[c] = zero_of(group, start + lane, c);
  }
}

float weight_at(uint k, uint c) {
  const uint part = HAS_HALVES ? k / 16u : 0u;
  const uint code = code_of(words[low_word(k)][c], words[high_word(k)][c], k);
  return weight_of(code, zeros[c], scales[part][c], minima[part][c]);
}
uint pair_of(uint i, uint j, uint c) {
  const uint k = 8u * i + 2u * j;
  return bf16_pair(weight_at(k, c), weight_at(k + 1u, c));
}
