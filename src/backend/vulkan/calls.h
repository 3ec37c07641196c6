#pragma once
// The push constants of the shaders, as they declare them (shaders/*.comp). Plain data.

#include <array>
#include <cstdint>

#include "backend/vulkan/gpu.h"

namespace foretoken {

struct RoundCall {
  Address x, to, order;
  std::uint32_t width, stride, pairs, has_order;
};
struct RoundCodesCall {
  Address x, to, scales, sums, order;
  std::uint32_t width, blocks, group, groups, has_order;
};
struct RoundSupersCall {
  Address x, to, scales, u, u_scales;
  std::uint32_t width, blocks, parts;
};
// Weights of codes, in each call that reads them.
struct CodesAt {
  Address codes, scales, minima, multiples, zeros;
};
// Whose weights a product multiplies by, at the start of its call, and what stands at its end: those
// of the call, or those of the matrix that each row chooses (shaders/matrices.glsl).
struct MatrixAt {  // of the table among which rows choose
  CodesAt w;       // of floats: codes
  Address bias, order;
};
struct CodesOfCall {
  CodesAt w;
  Address bias;
};
struct FloatsOfCall {
  Address w, bias;
};
struct ChosenOfCall {
  Address matrices, choices, order;
};
struct NoChoice {};
struct Choice {
  std::uint32_t each = 1, turns = 0, is_sorted = 0, x_stride = 0, y_stride = 0;
};
template <typename Weights, typename Chooses>
struct LinearCall {
  Weights w;
  Address x, y;
  std::uint32_t blocks, columns, rows, has_bias, first;  // blocks: of chains, the width
  [[no_unique_address]] Chooses choice;
};
template <typename Weights, typename Chooses>
struct LinearCodesCall {
  Weights w;
  Address x, y;
  std::uint32_t blocks, columns, rows, has_bias, first, blocks_per_scale;
  [[no_unique_address]] Chooses choice;
};
template <typename Weights, typename Chooses>
struct LinearRoundedCall {
  Weights w;
  Address x, y, x_scales, x_sums, u_scales;
  std::uint32_t blocks, columns, rows, has_bias, first, blocks_per_scale;
  [[no_unique_address]] Chooses choice;
};
struct HalveRowsCall {
  Address x, to, factors;
  std::uint32_t width, stride, words;
};
struct LinearUnitsCall {
  Address w, bias, x, y, factors;
  std::uint32_t width, columns, rows, has_bias, first;
};
struct RoundedUnitsCall {
  CodesOfCall w;
  Address x, y, x_scales, x_sums, u_scales;
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
  std::uint32_t groups;
};
struct CentreCall {
  Address x, to;
  std::uint32_t width;
};
struct ElementsCall {
  Address x, b;
  std::uint32_t count;
  float factor, inverse;
  std::uint32_t width;
};
struct RouteCall {
  Address logits, bias, scale, chosen, weights;
  std::uint32_t experts, count, normalises, has_bias, has_scale;
  float factor;
  std::uint32_t groups, kept_groups, group_tops;
};
struct OrderRowsCall {
  Address matrices, chosen, x, to;
  std::uint32_t each, width;
};
struct GroupRowsCall {
  Address chosen, order, groups;
  std::uint32_t rows, matrices, most_groups;
};
struct AddWeightedCall {
  Address parts, weights, to;
  std::uint32_t width, each;
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
struct StoreLatentCall {
  Address kv, q_in, norm, cosines, sines, q, k, k_scale, positions, slots;
  std::uint32_t heads, q_width, dim, value_dim, rotary, pairs;
  float eps;
  std::uint32_t pairs_neighbours;
};
struct AttentionCall {
  Address q, k, v, k_scale, v_scale, to, rows, pages, sinks, rounded, parts;
  std::uint32_t heads, kv_heads, dim, value_dim, flags;
  float scale, cap, inverse_cap;
  std::uint32_t most_parts;
};
struct MoveRowsCall {
  Address x, to, from_rows, to_rows;
  std::uint32_t count, width, x_stride, to_stride, to_column;
};
struct AddAtCall {
  Address x, places, starts, values;
  std::uint32_t count;
};
// In memory: shaders/search.glsl.
struct SearchAt {
  std::uint32_t row, count, is_exact, is_raw, has_noise;
  float temperature, most, slack, slack_share;
  std::array<std::uint32_t, 2> seed, position;
};
struct RowTopsCall {
  Address logits, rows, tops;
  std::uint32_t width, parts, part;
};
struct FindTokensCall {
  Address logits, rows, tops, found;
  std::uint32_t width, parts, part, most;
};
struct TopChancesCall {
  Address logits, found;
  std::uint32_t width, most;
};
struct ReadCall {
  Address from, to;
  std::uint32_t first;
};
struct RecurMixCall {
  Address rows, items, tails, taps, bias, tokens, to;
  std::uint32_t channels, count, has_bias, has_silu;
};
struct RecurNormCall {
  Address mixed;
  std::uint32_t channels, heads, dim, query, key;
  float factor;
};
struct RecurDecayCall {
  Address dt_in, bias, rate, items, before, seqs, dt, decays;
  std::uint32_t heads;
  float least, most;
};
// In memory: shaders/state_block.glsl.
struct StateLayerAt {
  Address mixed, item_keys, row_updates, item_updates, row_decays, item_decays, state, made;
  Address seqs, rows, paths, dt, beta, skip, to;
  std::uint32_t channels, query_at, key_at, value_at, heads, key_heads, key_dim, value_dim;
  std::uint32_t takes_turns, corrects, has_skip;
};
struct RecurRowsCall {
  Address layer;
};
struct RecurAdvanceCall {
  Address layer, blocks;
  std::uint32_t items;
};
struct KvMoveCall {
  Address k, v, k_scale, v_scale, moves;
  std::uint32_t count, kv_heads, words, has_scales, has_values;
};

}  // namespace foretoken
