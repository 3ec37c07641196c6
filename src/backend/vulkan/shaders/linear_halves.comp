#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "halves.glsl"
// Products with weights of fp16: one chain for each row and column, k ascending, of the input as
// it is (numerics.md). A lane has a column and ROWS rows, so a row has the same bits beside others.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint ROWS = 1;
const uint kColumns = 64, kMostRows = 8, kAhead = 8;
layout(push_constant) uniform Call {
  Words w;  // [groups of 64 columns][pairs of k][column]
  Floats x;
  Floats bias;
  Floats y;
  uint width, columns, rows, has_bias;
  uint first;  // of the workgroups' columns: a call takes as many as the device lets it
} call;

uint first_row() { return gl_WorkGroupID.x * ROWS; }

void add_k(uint k, float weight, inout float total[kMostRows]) {
  if (k >= call.width) return;
  [[unroll]] for (uint r = 0; r < ROWS; ++r) {
    const uint row = min(first_row() + r, call.rows - 1u);
    total[r] = fma_once(weight, flushed(call.x.v[row * call.width + k]), total[r]);
  }
}

void main() {
  const uint t = gl_LocalInvocationID.x, group = call.first + gl_WorkGroupID.y;
  const uint pairs = (call.width + 1u) / 2u, from = group * pairs * kColumns + t;
  float total[kMostRows];
  [[unroll]] for (uint r = 0; r < kMostRows; ++r) total[r] = 0.0;
  for (uint start = 0; start < pairs; start += kAhead) {
    uint w[kAhead];
    [[unroll]] for (uint i = 0; i < kAhead; ++i)
      w[i] = call.w.v[from + min(start + i, pairs - 1u) * kColumns];
    [[dont_unroll]] for (uint i = 0; i < min(kAhead, pairs - start); ++i) {
      add_k(2u * (start + i), f16_value(w[i] & 0xffffu), total);
      add_k(2u * (start + i) + 1u, f16_value(w[i] >> 16), total);
    }
  }
  const uint column = group * kColumns + t;
  if (column >= call.columns) return;
  [[unroll]] for (uint r = 0; r < ROWS; ++r) {
    const uint row = first_row() + r;
    if (row >= call.rows) continue;
    if (call.has_bias != 0u) total[r] = add(total[r], call.bias.v[column]);
    call.y.v[row * call.columns + column] = flushed(total[r]);
  }
}
