#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_shader_subgroup_basic : require
#ifdef BF16
#extension GL_EXT_bfloat16 : require
#define HALF bfloat16_t
#else
#define HALF float16_t
#endif
#include "common.glsl"
// Products by matrix units (docs/develop/vulkan.md, order mma): weights and input of fp16 or, with
// BF16, of bf16; sums of float32. k is cut into kSplits slices of equal length, whole steps of kStep
// each. A slice is a chain of multiply-adds of matrices by rising k, from 0; slices are added by
// rising k. Nothing of that depends on rows: a workgroup has TILES tiles of rows, whose sums are
// apart.
//
//   workgroup   kSplits subgroups, a slice each, x N columns x TILES * M rows
//   shared      a step of the input and of the weights of each slice, by words of two elements
layout(local_size_x_id = 1) in;
layout(constant_id = 2) const uint LANES = 32;  // of a subgroup
layout(constant_id = 3) const uint M = 16;
layout(constant_id = 4) const uint N = 16;
layout(constant_id = 5) const uint K = 16;
layout(constant_id = 6) const uint TILES = 1;
const uint kSplits = 4, kStep = 32, kWords = kStep / 2;
layout(push_constant) uniform Call {
  Words w;
  Floats bias;
  Words x;          // [rows][words]
  Floats y;
  Floats factors;   // of rows; of bf16 none
  uint width, columns, rows, has_bias;
  uint first;  // of the workgroups' columns
} call;

shared uint a[kSplits * TILES * M * kWords];  // [slice][row][word]
shared uint b[kSplits * N * kWords];          // [slice][column][word]
shared float sums[kSplits * M * N];

#ifdef BF16
const uint kCols = 4;  // of a group of columns (linear.comp)
uint weight_of(uint column, uint pair, uint steps) {
  const uint group = column / kCols;
  return call.w.v[group * steps * 16u * kCols + word_of(2u * pair, column % kCols, kCols, steps)];
}
uint input_of(uint row, uint pair, uint steps) {
  return call.x.v[row * steps * 16u + word_of(2u * pair, 0u, 1u, steps)];
}
float factor_of(uint row) { return 1.0; }
#else
const uint kCols = 64;  // of a group of columns (linear_chain.comp)
uint weight_of(uint column, uint pair, uint steps) {
  const uint words = (call.width + 1u) / 2u;
  if (pair >= words) return 0u;
  return call.w.v[(column / kCols * words + pair) * kCols + column % kCols];
}
uint input_of(uint row, uint pair, uint steps) { return call.x.v[row * steps * 16u + pair]; }
float factor_of(uint row) { return call.factors.v[row]; }
#endif

void main() {
  const uint t = gl_LocalInvocationID.x, slice = t / LANES, lane = t % LANES;
  const uint first_row = gl_WorkGroupID.x * M * TILES;
  const uint first_column = (call.first + gl_WorkGroupID.y) * N;
  const uint steps = (call.width + kStep - 1u) / kStep, of_slice = (steps + kSplits - 1u) / kSplits;
  coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator> total[TILES];
  [[unroll]] for (uint i = 0; i < TILES; ++i)
    total[i] = coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>(0.0);
  for (uint s = 0; s < of_slice; ++s) {
    const uint step_ = slice * of_slice + s;
    for (uint i = lane; i < N * kWords; i += LANES) {
      const uint column = i % N, word = i / N;
      const bool is_in = step_ < steps && first_column + column < call.columns;
      b[(slice * N + column) * kWords + word] =
          is_in ? weight_of(first_column + column, step_ * kWords + word, steps) : 0u;
    }
    for (uint i = lane; i < TILES * M * kWords; i += LANES) {
      const uint row = i / kWords, word = i % kWords;
      const bool is_in = step_ < steps && first_row + row < call.rows;
      a[(slice * TILES * M + row) * kWords + word] =
          is_in ? input_of(first_row + row, step_ * kWords + word, steps) : 0u;
    }
    barrier();
    for (uint k = 0; k < kStep; k += K) {
      coopmat<HALF, gl_ScopeSubgroup, K, N, gl_MatrixUseB> right;
      coopMatLoad(right, b, slice * N * kWords + k / 2u, kWords,
                  gl_CooperativeMatrixLayoutColumnMajor);
      [[unroll]] for (uint i = 0; i < TILES; ++i) {
        coopmat<HALF, gl_ScopeSubgroup, M, K, gl_MatrixUseA> left;
        coopMatLoad(left, a, (slice * TILES + i) * M * kWords + k / 2u, kWords,
                    gl_CooperativeMatrixLayoutRowMajor);
        total[i] = coopMatMulAdd(left, right, total[i]);
      }
    }
    barrier();
  }
  [[unroll]] for (uint i = 0; i < TILES; ++i) {
    coopMatStore(total[i], sums, slice * M * N, N, gl_CooperativeMatrixLayoutRowMajor);
    barrier();
    for (uint e = t; e < M * N; e += LANES * kSplits) {
      const uint row = first_row + i * M + e / N, column = first_column + e % N;
      if (row >= call.rows || column >= call.columns) continue;
      float sum = flushed(sums[e]);
      for (uint s = 1u; s < kSplits; ++s) sum = flushed(add(sum, flushed(sums[s * M * N + e])));
      sum = flushed(mul(sum, factor_of(row)));
      if (call.has_bias != 0u) sum = add(sum, call.bias.v[column]);
      call.y.v[row * call.columns + column] = flushed(sum);
    }
    barrier();
  }
}
