#pragma once
// CpuAttention: divides the attention of a batch into items (sequence, KV head, some queries, some
// spans of positions) for the pool, and merges the spans. How it divides never shows in the bits:
// the kernel's blocks and spans are fixed by logical positions. One caller at a time.

#include <functional>
#include <vector>

#include "backend/cpu/kernels.h"
#include "backend/ops.h"
#include "base/threads.h"
#include "tensor/buffer.h"

namespace foretoken {

class CpuAttention {
 public:
  CpuAttention(const OpKernels& kernels, ThreadPool& pool) : kernels_(kernels), pool_(pool) {}

  // Is told columns [col, col + cols) of a row of the result by the worker that has just written
  // them: whole heads.
  using Done = std::function<void(int row, std::int64_t col, int cols, const float* values)>;

  // Ops::attention. done: may be empty.
  void run(Tensor q, const KvLayer& kv, const AttentionShape& shape, const Batch& batch, Tensor out,
           const Done& done);

 private:
  // Spans of one group of queries that several items compute.
  struct Merge {
    std::size_t partial;  // floats into partials_: [spans][count][dim + 2]
    int item;             // the first of its items
    int spans;
  };
  struct Cut {
    int queries;  // of an item
    int parts;    // into which an item's spans are divided, where it has as many
  };

  void list_rows(Tensor q, const AttentionShape& shape, const Batch& batch, Tensor out);
  Cut choose_cut(const AttentionShape& shape, const Batch& batch) const;
  void list_items(const KvLayer& kv, const AttentionShape& shape, const Batch& batch, Cut cut);
  void add_items(const AttnItem& whole, int parts);
  void reserve(int head_dim);
  void merge_spans(const Merge& merge);
  void report(const AttnItem& item, Tensor out, const Done& done) const;

  const OpKernels& kernels_;
  ThreadPool& pool_;
  // Kept between calls for their memory.
  std::vector<AttnRow> rows_;  // [kv_heads, batch rows]
  std::vector<AttnItem> items_;
  std::vector<std::size_t> partial_of_;  // per item: floats into partials_, or kNone
  std::vector<Merge> merges_;
  std::size_t partial_floats_ = 0;
  std::int64_t work_ = 0;  // multiply-adds of the call
  Buffer scratch_;         // per worker
  Buffer partials_;
};

// Entry of the kernel table's arrays by dtype of the KV.
std::size_t kv_format(DType dtype);

}  // namespace foretoken
