#pragma once
// Entries of the kernel table besides GEMM: norms, rotation and KV store, attention, activation.
// Plain structs and function pointers only, for the reason given in kernels.h. The kernels know
// neither threads nor batches: each call is one row, or one item of attention.

#include <cstdint>

#include "backend/activation.h"
#include "backend/router_score.h"

namespace foretoken {

// Attention is defined over logical positions in blocks of kAttnBlock; blocks are merged in order
// into spans of kAttnSpan, spans in order into the result. Both are constants, so the bits depend
// on positions only, and spans may be computed by different threads.
inline constexpr int kAttnBlock = 128;
inline constexpr int kAttnSpan = 512;
inline constexpr int kAttnQueries = 64;      // of one item, where a kernel is not fastest with more
inline constexpr int kAttnMaxQueries = 512;  // of one item
inline constexpr int kAttnSlots = 16;        // keys that lie side by side: one page
// Values that an item copies where they are parts of keys: of a block, and of 64 nodes that start
// anywhere in a page.
inline constexpr int kAttnValuePages = kAttnBlock / kAttnSlots + 5;
inline constexpr float kLog2E = 1.44269504F;

// Rotates and stores some heads of one row.
struct RopeRow {
  const float* q_in;  // [heads * head_dim]
  const float* k_in;  // [kv_heads * head_dim]
  const float* v_in;  // [kv_heads * head_dim]
  const float* cos;   // [pairs] of the row's position
  const float* sin;
  const float* q_weight;  // [head_dim], or null: no norm
  const float* k_weight;
  float eps;
  int heads, kv_heads, head_dim, rotary_dim, pairs;
  float* q;                  // [heads * head_dim]
  void* k;                   // the row's page and slot: the first head, dim 0; null: do not store
  void* v;                   // the same
  float* k_scale = nullptr;  // where keys and values are codes: of k, from head to head kAttnSlots
  float* v_scale = nullptr;  // of v
  float* temp;               // [head_dim rounded up to 16]
};

// Stores the key of one row of latent attention and rotates the ends of its queries
// (StepOps::store_latent).
struct LatentRow {
  const float* q_in;    // the part of the first head that rotates
  std::int64_t q_step;  // of q_in, floats from head to head
  const float* kv_in;   // [head_dim]
  const float* norm;    // [value_dim]
  float eps;
  const float* cos;  // [pairs] of the row's position
  const float* sin;
  int heads, head_dim, value_dim, rotary_dim, pairs;
  bool pairs_neighbours;
  float* q;                  // [heads * head_dim], of which the ends of heads are written
  void* k;                   // the row's page and slot; null: do not store
  float* k_scale = nullptr;  // where keys are codes
  float* temp;               // [2 * (head_dim rounded up to 16)]
};

// One row of an attention item.
struct AttnRow {
  std::int32_t position;  // logical; it sees positions <= this one
  std::int32_t first;     // and >= this one, by window, chunk and first slot
  std::uint64_t nodes;    // ancestors and self by node; 0: slot index equals position throughout
};

// Queries [first, first + count) of one sequence and KV head, over spans [first_span, end_span).
// Query i is head i % group of rows[i / group].
struct AttnItem {
  const void* k;  // the layer, at the KV head: page p starts at p * page_stride elements
  const void* v;  // null: a value is the first value_dim elements of its key
  // Where these are codes: their scales, page p at p * (page_stride / head_dim).
  const float* k_scale = nullptr;
  const float* v_scale = nullptr;
  const float* q;           // of rows[0], the query heads of the item's KV head: [group * head_dim]
  float* out;               // the same: [group * value_dim]
  std::int64_t row_stride;  // of q, floats from row to row
  std::int64_t out_stride;  // of out
  const std::int32_t* pages;  // of the sequence
  std::int64_t page_stride;
  int head_dim;
  int value_dim;  // of values, and of what comes out
  int group;
  float scale;    // of scores, above 0: a weight is 2^(score - the greatest)
  float cap = 0;  // of scores, as they are after `scale`; 0: none
  const AttnRow* rows;
  int first, count;  // count <= kAttnMaxQueries
  int tree_start;    // slot index of node 0
  int first_span, end_span;
  // Null: write out. Else states go here, of each span o [count][value_dim rounded up to 16],
  // m [count], l [count].
  float* partial;
  float* scratch;  // attention_scratch floats
  // Of the query heads of the item's KV head [group]: scores, before log2(e), of a position with the
  // value 0 that joins after all spans. Null: there is none.
  const float* sinks = nullptr;
};

struct OpKernels {
  // out = x / sqrt(mean(x^2) + eps) * weight; the sum in sixteen lanes, added by the fixed tree.
  void (*norm)(const float* x, const float* weight, std::int64_t width, float eps, float* out);
  // out = x - mean(x); the sum in sixteen lanes, added by the fixed tree.
  void (*centre)(const float* x, std::int64_t width, float* out);
  // a += b
  void (*add)(float* a, const float* b, std::int64_t width);
  // x *= factor
  void (*scale)(float* x, std::int64_t width, float factor);
  // x = cap * tanh(x * (1 / cap))
  void (*soft_cap)(float* x, std::int64_t width, float cap);
  // out = act(gate) * up, by Activation
  void (*gated_act[kActivations])(const float* gate, const float* up, std::int64_t width,
                                  float* out);
  // Scores of a router's logits, by RouterScore.
  void (*router_scores[kRouterScores])(const float* logits, std::int64_t width, float* out);
  // The following by dtype of the KV: bf16, fp16, float32, int8, E4M3, E5M2.
  void (*rope_store[6])(const RopeRow& row);
  void (*store_latent[6])(const LatentRow& row);
  void (*attention[6])(const AttnItem& item);    // of bf16: in tile order
  int attention_queries = kAttnQueries;          // of an item, at most
  void (*attention_pair)(const AttnItem& item);  // of bf16: in pair order
  // Joins the partials of `spans` spans of an item in order and writes out. The first is
  // overwritten.
  void (*merge_spans)(const AttnItem& item, int spans);
  // The k largest logits of a row in order, the lower token first where they are equal, and their
  // probabilities; -1 where there are none.
  void (*top_tokens)(const float* row, std::int64_t vocab, int k, std::int32_t* tokens,
                     float* probabilities);
};

}  // namespace foretoken
