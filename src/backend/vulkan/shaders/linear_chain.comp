#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "halves.glsl"
#include "matrices.glsl"
// Products with weights of fp16 and float32: one chain for each row and column, k ascending, of the
// input as it is (numerics.md). A lane has a column and ROWS rows, so a row has the same bits
// beside others.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint KIND = 1;
const uint ROWS = KIND & 15u;
const bool IS_WIDE = (KIND & 16u) != 0u;  // float32
const uint kColumns = 64, kMostRows = 8, kAhead = 8, kOfWord = IS_WIDE ? 1u : 2u;
layout(push_constant) uniform Call {
  WEIGHTS_OF_CALL(FLOATS_OF_CALL)  // [groups of 64 columns][words of k][column]
  Floats x;
  Floats y;
  uint width, columns, rows, has_bias;
  uint first;  // of the workgroups' columns: a call takes as many as the device lets it
  OF_CHOICE
} call;

DEFINE_ROWS
uint inputs[kMostRows];  // where rows of the input begin

void add_k(uint k, float weight, inout float total[kMostRows]) {
  if (k >= call.width) return;
  [[unroll]] for (uint r = 0; r < ROWS; ++r)
    total[r] = fma_once(weight, flushed(call.x.v[inputs[r] + k]), total[r]);
}

void main() {
  const uint t = gl_LocalInvocationID.x, group = call.first + gl_WorkGroupID.y;
  take_rows();
  if (!has_row(0u)) return;
  [[unroll]] for (uint r = 0; r < ROWS; ++r) inputs[r] = input_of(r) * X_STRIDE(call.width);
  const uint words = (call.width + kOfWord - 1u) / kOfWord, from = group * words * kColumns + t;
  float total[kMostRows];
  [[unroll]] for (uint r = 0; r < kMostRows; ++r) total[r] = 0.0;
  for (uint start = 0; start < words; start += kAhead) {
    uint w[kAhead];
    [[unroll]] for (uint i = 0; i < kAhead; ++i)
      w[i] = WEIGHTS.codes.v[from + min(start + i, words - 1u) * kColumns];
    [[dont_unroll]] for (uint i = 0; i < min(kAhead, words - start); ++i) {
      if (IS_WIDE) {
        add_k(start + i, flushed(uintBitsToFloat(w[i])), total);
      } else {
        add_k(2u * (start + i), f16_value(w[i] & 0xffffu), total);
        add_k(2u * (start + i) + 1u, f16_value(w[i] >> 16), total);
      }
    }
  }
  const uint column = group * kColumns + t;
  if (column >= call.columns) return;
  [[unroll]] for (uint r = 0; r < ROWS; ++r) {
    if (!has_row(r)) continue;
    if (call.has_bias != 0u) total[r] = add(total[r], WEIGHTS.bias.v[column]);
    call.y.v[row_of(r) * Y_STRIDE + column] = flushed(total[r]);
  }
}
