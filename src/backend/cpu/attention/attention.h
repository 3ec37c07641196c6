#pragma once
// CpuAttention: divides the attention of a batch into items (sequence, KV head, some queries, some
// spans of positions) for the pool, and merges the spans. How it divides never shows in the bits:
// the kernel's blocks and spans are fixed by logical positions. The division is worked out once for
// a batch and a shape, and serves all layers of that shape. One caller at a time.

#include <functional>
#include <memory>
#include <vector>

#include "backend/attention_shape.h"
#include "backend/cpu/attention/attention_items.h"
#include "backend/cpu/table/kernels.h"
#include "backend/forward_size.h"
#include "backend/kv_shape.h"
#include "base/threads.h"
#include "tensor/buffer.h"

namespace foretoken {

class CpuAttention {
 public:
  CpuAttention(const OpKernels& kernels, ThreadPool& pool) : kernels_(kernels), pool_(pool) {}

  // Is told columns [col, col + cols) of a row of the result by the worker that has just written
  // them: whole heads.
  using Done = std::function<void(int row, std::int64_t col, int cols, const float* values)>;

  // StepOps::plan_attention. Valid until forget_plans; their memory is used again.
  const AttentionPlan& plan(const AttentionShape& shape, const Batch& batch);
  void forget_plans() { num_plans_ = 0; }

  // StepOps::attention, with a plan made here. done: may be empty.
  void run(Tensor q, const KvLayer& kv, const AttentionPlan& plan, Tensor out, const Done& done);

  // Memory kept between calls: what forwards of a size need at most, and what is held now.
  std::size_t workspace_bytes(const ForwardSize& size) const;
  std::size_t workspace_bytes() const;

 private:
  struct Call;  // one layer
  void reserve(const AttentionItems& items);

  const OpKernels& kernels_;
  ThreadPool& pool_;
  std::vector<std::unique_ptr<AttentionItems>> plans_;
  std::size_t num_plans_ = 0;  // in use, of plans_
  // Kept between calls for their memory.
  Buffer scratch_;  // per worker
  Buffer partials_;
};

// Entry of the kernel table's arrays by dtype of the KV.
std::size_t kv_format(DType dtype);

}  // namespace foretoken
