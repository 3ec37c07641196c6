#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_KHR_shader_subgroup_basic : require
#include "common.glsl"
#include "matrices.glsl"
// What linear_rounded.comp computes, by matrix units of 8 bits: sums of products of codes are
// integers, so they are the same in any order, and the bits are those of tile order. Of formats whose
// numbers have 8 bits (VulkanCodes::fits_8_bits).
//
//   workgroup   kSubgroups subgroups of N columns each x M rows
//   shared      a block of 32 k of the input and of the weights, by words of four numbers; the sums
//               of a group; then each lane adds up some (row, column)
layout(local_size_x_id = 1) in;
layout(constant_id = 2) const uint LANES = 32;  // of a subgroup
layout(constant_id = 3) const uint M = 16;
layout(constant_id = 4) const uint N = 16;
layout(constant_id = 5) const uint K = 16;
const uint kSubgroups = 4, kWords = 8;  // of a block of a row or column
layout(push_constant) uniform Call {
  CODES_OF_CALL
  Words x;  // [rows][32 blocks][quad of 8 codes][block], two words each
  Floats y;
  Floats x_scales;  // rounded_sum.glsl
  Ints x_sums;
  Floats u_scales;
  uint blocks, columns, rows, has_bias;
  uint first;  // of the workgroups' columns
  uint blocks_per_scale;
} call;
#include "codes.glsl"
#include "rounded_sum.glsl"

shared uint a[M * kWords];                      // [row][word]
shared uint b[kSubgroups * N * kWords];         // [subgroup][column][word]
shared int sums[kSubgroups * M * N];
const uint kEach = (M * N + LANES - 1u) / LANES;  // sums of a lane

void load_input(uint first_row, uint block) {
  const uint start = block / 32u * 32u, many = min(32u, call.blocks - start);
  for (uint i = gl_LocalInvocationID.x; i < M * kWords; i += LANES * kSubgroups) {
    const uint row = first_row + i / kWords, word = i % kWords;
    const uint quad = (row * call.blocks + start) * 4u + word / 2u * many + block - start;
    a[i] = row < call.rows ? call.x.v[2u * quad + word % 2u] : 0u;
  }
}

void load_weights(uint mine, uint lane, uint first_column, uint block) {
  const uint start = block / 32u * 32u, many = min(32u, call.blocks - start);
  for (uint i = lane; i < N * kWords; i += LANES) {
    const uint column = first_column + i % N, word = i / N;
    uint four = 0u;
    if (column < call.columns) {
      const uint group = column / kCols, c = column % kCols;
      const int zero = zero_of(group, block, c);
      for (uint j = 0; j < 4u; ++j) {
        const uint k = 4u * word + j;
        const uint low = WEIGHTS.codes.v[code_place(group, start, many, low_word(k), c, block - start)];
        const uint high =
            kHigh == 0u ? 0u
                        : WEIGHTS.codes.v[code_place(group, start, many, high_word(k), c, block - start)];
        four |= (uint(integer_of(code_of(low, high, k), zero)) & 255u) << (8u * j);
      }
    }
    b[(mine * N + i % N) * kWords + word] = four;
  }
}

void main() {
  const uint t = gl_LocalInvocationID.x, mine = t / LANES, lane = t % LANES;
  const uint first_row = gl_WorkGroupID.x * M;
  const uint first_column = ((call.first + gl_WorkGroupID.y) * kSubgroups + mine) * N;
  const uint blocks_per_group = HAS_SUPER ? 1u : call.blocks_per_scale;
  const uint groups = (call.blocks + blocks_per_group - 1u) / blocks_per_group * kParts;
  const uint of_part = 32u / kParts;  // k
  RoundedSum results[kEach];
  for (uint i = 0; i < kEach; ++i) results[i] = RoundedSum(0.0, 0.0, 0, 0);
  coopmat<int, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator> sum =
      coopmat<int, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>(0);
  for (uint block = 0; block < call.blocks; ++block) {
    load_input(first_row, block);
    load_weights(mine, lane, first_column, block);
    barrier();
    for (uint part = 0; part < kParts; ++part) {
      for (uint k = part * of_part; k < (part + 1u) * of_part; k += K) {
        coopmat<int8_t, gl_ScopeSubgroup, M, K, gl_MatrixUseA> left;
        coopmat<int8_t, gl_ScopeSubgroup, K, N, gl_MatrixUseB> right;
        coopMatLoad(left, a, k / 4u, kWords, gl_CooperativeMatrixLayoutRowMajor);
        coopMatLoad(right, b, mine * N * kWords + k / 4u, kWords,
                    gl_CooperativeMatrixLayoutColumnMajor);
        sum = coopMatMulAdd(left, right, sum);
      }
      if ((block + 1u) % blocks_per_group != 0u && block + 1u < call.blocks) continue;
      coopMatStore(sum, sums, mine * M * N, N, gl_CooperativeMatrixLayoutRowMajor);
      sum = coopmat<int, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>(0);
      barrier();
      for (uint i = 0; i < kEach; ++i) {
        const uint e = lane + i * LANES, row = first_row + e / N, column = first_column + e % N;
        if (e >= M * N || row >= call.rows || column >= call.columns) continue;
        add_group(results[i], row, column, block, part, groups,
                  block / blocks_per_group * kParts + part, sums[mine * M * N + e]);
      }
      barrier();
    }
    barrier();
  }
  for (uint i = 0; i < kEach; ++i) {
    const uint e = lane + i * LANES, row = first_row + e / N, column = first_column + e % N;
    if (e >= M * N || row >= call.rows || column >= call.columns) continue;
    float total = results[i].y;
    if (call.has_bias != 0u) total = add(total, WEIGHTS.bias.v[column]);
    call.y.v[row * call.columns + column] = flushed(total);
  }
}
