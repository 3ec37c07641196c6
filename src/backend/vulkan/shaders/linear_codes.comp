#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "matrices.glsl"
// Products with weights of codes (codes.glsl) that keep their input at bf16: a weight is rounded to
// bf16, then it is as in linear.comp.
layout(push_constant) uniform Call {
  WEIGHTS_OF_CALL(CODES_OF_CALL)
  Quads x;  // as common.glsl lays out blocks, [rows][blocks] of one column
  Floats y;
  uint blocks, columns, rows, has_bias;
  uint first;  // of the workgroups' columns
  uint blocks_per_scale;
  OF_CHOICE
} call;
#include "codes.glsl"
#define LOADS_LATE
#include "linear.glsl"

// Of the quad of the lane's block that is at hand.
uint low_bits[kCols], high_bits[kCols];
float scales[kCols], minima[kCols];
int zeros[kCols];

void load_quad(uint group, uint start, uint many, uint lane, uint i) {
  const uint k = 8u * i;
  [[unroll]] for (uint c = 0; c < kCols; ++c) {
    low_bits[c] = WEIGHTS.codes.v[code_place(group, start, many, low_word(k), c, lane)];
    low_bits[c] >>= k * kLow % 32u;
    if (kHigh > 0u) {
      high_bits[c] = WEIGHTS.codes.v[code_place(group, start, many, high_word(k), c, lane)];
      high_bits[c] >>= k * kHigh % 32u;
    }
  }
  if (i % (kQuads / kParts) > 0u) return;
  [[unroll]] for (uint c = 0; c < kCols; ++c) {
    scales[c] = scale_of(group, start + lane, c, k / 16u);
    minima[c] = minimum_of(group, start + lane, c, k / 16u);
    zeros[c] = zero_of(group, start + lane, c);
  }
}

// Element k of the quad.
float weight_at(uint k, uint c) {
  const uint code = code_of(low_bits[c], high_bits[c], k);
  return round_bf16(weight_of(code, zeros[c], scales[c], minima[c]));
}
float low_of(uint i, uint j, uint c) { return weight_at(2u * j, c); }
float high_of(uint i, uint j, uint c) { return weight_at(2u * j + 1u, c); }
