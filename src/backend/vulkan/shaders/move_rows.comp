#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
// Rows to[i] = rows from[i]. Each lane takes a column of them all, in order, because a row may be
// written twice and both may be one matrix. Without ORDER rows are written once and side by side:
// to row i.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint ORDER = 0;
layout(push_constant) uniform Call {
  Words x;
  Words to;
  Ints from_rows;
  Ints to_rows;
  uint count, width, x_stride, to_stride, to_column;
} call;

void move(uint from, uint to, uint column) {
  call.to.v[to * call.to_stride + call.to_column + column] =
      call.x.v[from * call.x_stride + column];
}

void main() {
  const uint column = gl_GlobalInvocationID.x;
  if (column >= call.width) return;
  if (ORDER == 0u) {
    move(uint(call.from_rows.v[gl_WorkGroupID.y]), gl_WorkGroupID.y, column);
  } else {
    for (uint i = 0; i < call.count; ++i)
      move(uint(call.from_rows.v[i]), uint(call.to_rows.v[i]), column);
  }
}
