#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
// Sorts rows by the matrix that each has chosen, and cuts those of a matrix into groups of kRows, as
// products take them (matrices.glsl). One workgroup; a lane has some of the matrices.
layout(local_size_x = 64) in;
const uint kLanes = 64, kMostMatrices = 1024, kRows = 8;
layout(push_constant) uniform Call {
  Words chosen;  // [rows]
  Words order;   // [rows]: those of the first matrix, of the second, ..
  Words groups;  // of each: a matrix, the first of its places in `order`, their number or 0
  uint rows, matrices, most_groups;
} call;

shared uint counts[kMostMatrices];
shared uint places[kMostMatrices];  // the first of a matrix
shared uint firsts[kMostMatrices];  // its first group
shared uint all_groups;

void main() {
  const uint t = gl_LocalInvocationID.x;
  for (uint m = t; m < call.matrices; m += kLanes) {
    uint count = 0u;
    for (uint row = 0; row < call.rows; ++row)
      if (call.chosen.v[row] == m) ++count;
    counts[m] = count;
  }
  barrier();
  if (t == 0u) {
    uint place = 0u, group = 0u;
    for (uint m = 0; m < call.matrices; ++m) {
      places[m] = place;
      firsts[m] = group;
      place += counts[m];
      group += (counts[m] + kRows - 1u) / kRows;
    }
    all_groups = group;
  }
  barrier();
  for (uint m = t; m < call.matrices; m += kLanes) {
    uint place = places[m];
    for (uint row = 0; counts[m] > 0u && row < call.rows; ++row)
      if (call.chosen.v[row] == m) call.order.v[place++] = row;
    for (uint first = 0; first < counts[m]; first += kRows) {
      const uint group = 3u * (firsts[m] + first / kRows);
      call.groups.v[group] = m;
      call.groups.v[group + 1u] = places[m] + first;
      call.groups.v[group + 2u] = min(kRows, counts[m] - first);
    }
  }
  for (uint group = all_groups + t; group < call.most_groups; group += kLanes) {
    call.groups.v[3u * group] = 0u;
    call.groups.v[3u * group + 1u] = 0u;
    call.groups.v[3u * group + 2u] = 0u;
  }
}
