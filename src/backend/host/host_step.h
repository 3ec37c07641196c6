#pragma once
// The parts of a step that are bookkeeping rather than arithmetic, shared by the backends that run
// on the host: rows from the plan, the walk over logits, copies of rows, the moves of accepted KV.
// Not an Ops: no state. Called by the engine thread; all but the layout spread their work over the
// pool.

#include <functional>
#include <span>
#include <vector>

#include "backend/ops.h"
#include "base/threads.h"
#include "batch/verify.h"

namespace foretoken {

// Fills `batch` from scratch (its vectors keep their capacity). Entries become sequences in the
// order of the plan; each has its chain rows first, then its tree's nodes.
void layout_rows(const StepPlan& plan, const DraftTrees& trees, const SeqTable& table,
                 Batch& batch);

// Chain rows [begin, end) of an entry whose next token is scored. Empty without score_from; the
// last chain row counts only if its successor is known.
struct ScoredRows {
  int begin = 0;
  int end = 0;
  int size() const { return end - begin; }
};
ScoredRows scored_rows(const StepEntry& entry);

// ResultOps::verify. logits [batch.logit_rows.size(), vocab] f32, modified.
Walk verify_trees(ThreadPool& pool, const StepPlan& plan, const DraftTrees& trees,
                  const Batch& batch, Tensor logits);

// The same of rows that are not all in the host's memory.
struct RowsToVerify {
  std::int64_t vocab = 0;
  // Of rows that are scored, and of nodes that are not drawn; writable. Any thread.
  std::function<std::span<float>(int row)> logits_of;
  std::vector<DrawnNodes> drawn;  // by entry; may be empty
};
Walk verify_rows(ThreadPool& pool, const StepPlan& plan, const DraftTrees& trees,
                 const Batch& batch, RowsToVerify rows);

// ResultOps::draw_tokens. scratch [pool.size(), vocab] f32.
void draw_rows(ThreadPool& pool, const Tensor& logits, std::span<const Token> ids, Tensor scratch,
               std::span<const DrawRow> rows, int k, DrawnTokens& out);

// StepOps::gather_columns, copy_rows and join_columns, where memory is the host's.
void gather_host_columns(ThreadPool& pool, const Tensor& x, std::span<const std::int32_t> rows,
                         const Tensor& out, std::int64_t column);
void copy_host_rows(ThreadPool& pool, const Tensor& x, std::span<const std::int32_t> from,
                    const Tensor& out, std::span<const std::int32_t> to);
void join_host_columns(ThreadPool& pool, const Tensor& a, const Tensor& b, const Tensor& out);

// ResultOps::read_rows.
void read_host_rows(const Tensor& x, std::span<const std::int32_t> rows, std::vector<float>& out);

// LoadOps::pack_rows.
std::unique_ptr<PackedLinear> pack_host_rows(Ops& ops, const PackedLinear& w,
                                             std::span<const Token> rows, DType dtype,
                                             const WeightFormat& format);

// LoadOps::upload.
void copy_host(const Tensor& from, const Tensor& to);

// LoadOps::alloc_kv and what a page takes. The layout of all code that runs on the host:
//   k [pages, kv_heads, head_dim, kPageTokens]   transposed, so that a group of 16 keys is one
//                                                vector per dim
//   v [pages, kv_heads, kPageTokens, head_dim]
// and within a head of bf16, whose dimensions are even, pairs of what a product adds up:
//   k [head_dim / 2, kPageTokens, 2]
//   v [kPageTokens / 2, head_dim, 2]
//   scales of codes [pages, kv_heads, kPageTokens]
using AllocZeros = std::function<Tensor(DType dtype, Shape shape)>;
std::vector<KvLayer> alloc_host_kv(const AllocZeros& alloc, const KvShape& shape, int num_pages);
std::size_t host_kv_page_bytes(const KvShape& shape);

// LoadOps::release_kv. Pages of the system that hold bytes of other pages, too, are kept.
void release_host_kv(std::span<const KvLayer> layers, std::span<const PageId> pages);

// Where an element of a key and of a value lies, in elements from the layer's first.
std::int64_t host_key_at(const KvLayer& kv, std::int32_t slot, std::int64_t head, std::int64_t d);
std::int64_t host_value_at(const KvLayer& kv, std::int32_t slot, std::int64_t head, std::int64_t d);

// What StepOps::kv_keep moves, in the order in which it may be moved.
struct KvMove {
  std::int32_t from, to;  // KV slots
};
std::vector<KvMove> kv_moves(const Walk& walk, const Batch& batch);

// StepOps::kv_keep: the accepted node at depth d moves to where node d was stored.
void keep_kv(ThreadPool& pool, const Walk& walk, const Batch& batch,
             std::span<const KvLayer> layers);

// The place of a row in its sequence's text: committed text, chain, ancestors, the row itself.
std::int32_t place_in_text(const Batch& batch, int row);

// The KV slots (page * kPageTokens + offset) that a row attends, in the order of their logical
// positions 0 .. position of the row: committed text, chain, ancestors by depth, the row itself.
void visible_slots(const Batch& batch, int row, std::vector<std::int32_t>& out);

}  // namespace foretoken
