#pragma once
// The push constants of the shaders, as they declare them (shaders/*.comp). Plain data.

#include <cstdint>

#include "backend/vulkan/gpu.h"

namespace foretoken {

struct RoundCall {
  Address x, to, order;
  std::uint32_t width, pairs, has_order;
};
struct RoundCodesCall {
  Address x, to, scales, sums, order;
  std::uint32_t width, blocks, group, groups, has_order;
};
struct LinearCall {
  Address w, x, bias, y;
  std::uint32_t blocks, columns, rows, has_bias, first;
};
struct LinearHalvesCall {
  Address w, x, bias, y;
  std::uint32_t width, columns, rows, has_bias, first;
};
// Weights of codes, in each call that reads them.
struct CodesAt {
  Address codes, scales, minima, multiples, zeros;
};
struct LinearCodesCall {
  CodesAt w;
  Address x, bias, y;
  std::uint32_t blocks, columns, rows, has_bias, first, blocks_per_scale;
};
struct LinearRoundedCall {
  CodesAt w;
  Address x, bias, y, x_scales, x_sums;
  std::uint32_t blocks, columns, rows, has_bias, first, blocks_per_scale;
};
struct RowsCodesCall {
  CodesAt w;
  Address order, tokens, out;
  std::uint32_t width, blocks, blocks_per_scale, has_order;
};
struct RowsCall {
  Address table, tokens, out;
  std::uint32_t width, stride;
};
struct NormCall {
  Address x, delta, weight, to, rounded;
  std::uint32_t width;
  float eps;
};
struct ElementsCall {
  Address x, b;
  std::uint32_t count;
  float factor, inverse;
};
struct GatedActCall {
  Address gate_up, to, rounded;
  std::uint32_t width, blocks;
};
struct RopeStoreCall {
  Address qkv, cosines, sines, q_norm, k_norm, q, k, v, k_scale, v_scale, positions, slots;
  std::uint32_t heads, kv_heads, dim, rotary, pairs;
  float eps;
  std::uint32_t has_norm;
};
struct AttentionCall {
  Address q, k, v, k_scale, v_scale, to, rows, pages, sinks, rounded, parts;
  std::uint32_t heads, kv_heads, dim, window, has_sinks, has_rounded;
  float scale, cap, inverse_cap;
  std::uint32_t most_parts;
};
struct MoveRowsCall {
  Address x, to, from_rows, to_rows;
  std::uint32_t count, width, to_stride, to_column;
};
struct AddAtCall {
  Address x, places, starts, values;
  std::uint32_t count;
};
struct ReadCall {
  Address from, to;
  std::uint32_t first;
};
struct KvMoveCall {
  Address k, v, k_scale, v_scale, moves;
  std::uint32_t count, kv_heads, words, has_scales;
};

}  // namespace foretoken
