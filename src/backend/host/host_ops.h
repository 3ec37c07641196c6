#pragma once
// HostOps: the operations that are the same on every machine whose memory is the host's: scratch,
// copies of rows, recurrent layers, the walk, KV. What is arithmetic of a model is of the backend
// that is made of it. Called by the thread that computes steps; work is spread over the pool.

#include <memory>
#include <span>
#include <vector>

#include "backend/host/host_states.h"
#include "backend/host/host_step.h"
#include "backend/ops.h"
#include "base/threads.h"
#include "tensor/arena.h"

namespace foretoken {

class HostOps : public Ops {
 public:
  std::unique_ptr<PackedLinear> pack_rows(const PackedLinear& w, std::span<const Token> rows,
                                          DType dtype, const WeightFormat& format) override {
    return pack_host_rows(*this, w, rows, dtype, format);
  }
  std::size_t kv_page_bytes(const KvShape& shape) const override {
    return host_kv_page_bytes(shape);
  }
  std::size_t state_bytes(const KvShape& shape) const override { return host_state_bytes(shape); }
  void upload(Tensor host, Tensor to) override { copy_host(host, to); }

  Tensor temp(DType dtype, Shape shape) override { return scratch_.alloc(dtype, shape); }
  Arena::Mark mark() const override { return scratch_.mark(); }
  void release(const Arena::Mark& mark) override { scratch_.release(mark); }
  void release_scratch() override { scratch_.shrink(); }

  void gate(Tensor x, Tensor gate, GateCurve curve) override {
    gate_host_rows(pool_, x, gate, curve);
  }
  void recur(const RecurrentRows& rows, const RecurrentWeights& weights, const Batch& batch,
             const KvLayer& kv, Tensor out) override {
    recur_host_rows(*this, pool_, rows, weights, batch, kv.states, out);
  }
  void gather_columns(Tensor x, std::span<const std::int32_t> rows, Tensor out,
                      std::int64_t column) override {
    gather_host_columns(pool_, x, rows, out, column);
  }
  void copy_rows(Tensor x, std::span<const std::int32_t> from, Tensor out,
                 std::span<const std::int32_t> to) override {
    copy_host_rows(pool_, x, from, out, to);
  }
  void join_columns(Tensor a, Tensor b, Tensor out) override {
    join_host_columns(pool_, a, b, out);
  }
  void add_elements(Tensor x, std::span<const Addend> addends) override {
    for (const Addend& addend : addends) x.row_f32(addend.row)[addend.column] += addend.value;
  }
  void kv_keep(const Walk& walk, const Batch& batch, std::span<const KvLayer> layers) override {
    keep_kv(pool_, walk, batch, layers);
  }
  void copy_states(std::span<const StateCopy> copies, std::span<const KvLayer> layers) override {
    copy_host_states(pool_, copies, layers);
  }

  void read_back() override {}  // what is asked for is there when a call returns
  void read_rows(Tensor x, std::span<const std::int32_t> rows, std::vector<float>& out) override {
    read_host_rows(x, rows, out);
  }
  void draw_tokens(Tensor logits, std::span<const Token> ids, std::int64_t vocab,
                   std::span<const DrawRow> rows, int k, DrawnTokens& out) override {
    const ScratchScope rows_only(*this);
    draw_rows(pool_, logits, ids, temp(DType::kF32, {pool_.size(), vocab}), rows, k, out);
  }
  void verify(const StepPlan& plan, const DraftTrees& trees, const Batch& batch, Tensor logits,
              Walk& walk) override {
    walk = verify_trees(pool_, plan, trees, batch, logits);
  }

 protected:
  explicit HostOps(ThreadPool& pool) : pool_(pool) {}

  ThreadPool& pool_;
  Arena scratch_;  // of a step
};

}  // namespace foretoken
