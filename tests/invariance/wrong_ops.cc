#include "invariance/wrong_ops.h"

#include <algorithm>
#include <utility>

namespace foretoken {
namespace {

class Delegate : public Ops {
 public:
  explicit Delegate(std::unique_ptr<Ops> inner) : inner_(std::move(inner)) {}

  std::string description() const override { return inner_->description() + ", wrong on purpose"; }
  std::unique_ptr<PackedLinear> pack(const LinearParts& parts) override {
    return inner_->pack(parts);
  }
  Tensor alloc(DType dtype, Shape shape) override { return inner_->alloc(dtype, shape); }
  Tensor temp(DType dtype, Shape shape) override { return inner_->temp(dtype, shape); }
  void layout(const StepPlan& plan, const DraftTrees& trees, const SeqTable& table,
              Batch& batch) override {
    inner_->layout(plan, trees, table, batch);
  }
  void embed(const PackedLinear& table, std::span<const Token> tokens, Tensor out) override {
    inner_->embed(table, tokens, out);
  }
  void norm(Tensor x, Tensor weight, float eps, Tensor out) override {
    inner_->norm(x, weight, eps, out);
  }
  void add_norm(Tensor residual, Tensor delta, Tensor weight, float eps, Tensor out) override {
    inner_->add_norm(residual, delta, weight, eps, out);
  }
  void add(Tensor residual, Tensor delta) override { inner_->add(residual, delta); }
  void linear(const PackedLinear& w, Tensor x, Tensor y) override { inner_->linear(w, x, y); }
  void rope_store_kv(Tensor qkv, const RopeTable& rope, const QkNorm& qk_norm,
                     const AttentionShape& shape, const Batch& batch, const KvLayer& kv,
                     Tensor q) override {
    inner_->rope_store_kv(qkv, rope, qk_norm, shape, batch, kv, q);
  }
  void attention(Tensor q, const KvLayer& kv, const AttentionShape& shape, const Batch& batch,
                 Tensor out) override {
    inner_->attention(q, kv, shape, batch, out);
  }
  void gated_act(Tensor gate_up, Tensor out) override { inner_->gated_act(gate_up, out); }
  void gather_rows(Tensor x, std::span<const std::int32_t> rows, Tensor out) override {
    inner_->gather_rows(x, rows, out);
  }
  Walk verify(const StepPlan& plan, const DraftTrees& trees, const Batch& batch,
              Tensor logits) override {
    return inner_->verify(plan, trees, batch, logits);
  }
  void copy_rows(Tensor x, std::span<const std::int32_t> from, Tensor out,
                 std::span<const std::int32_t> to) override {
    inner_->copy_rows(x, from, out, to);
  }
  void join_columns(Tensor a, Tensor b, Tensor out) override { inner_->join_columns(a, b, out); }
  void top_tokens(Tensor logits, int k, TopTokens& out) override {
    inner_->top_tokens(logits, k, out);
  }
  void kv_keep(const Walk& walk, const Batch& batch, std::span<const KvLayer> layers) override {
    inner_->kv_keep(walk, batch, layers);
  }

 private:
  std::unique_ptr<Ops> inner_;
};

class SplitK final : public Delegate {
 public:
  using Delegate::Delegate;
  void linear(const PackedLinear& w, Tensor x, Tensor y) override {
    if (x.dim(0) < 2) return Delegate::linear(w, x, y);
    const std::int64_t width = x.dim(1), half = width / 2;
    const Tensor part = temp(DType::kF32, x.shape());
    const Tensor sum = temp(DType::kF32, y.shape());
    std::fill_n(part.f32(), part.elements(), 0.0F);
    for (std::int64_t r = 0; r < x.dim(0); ++r) std::copy_n(x.row_f32(r), half, part.row_f32(r));
    Delegate::linear(w, part, sum);
    for (std::int64_t r = 0; r < x.dim(0); ++r) {
      std::fill_n(part.row_f32(r), half, 0.0F);
      std::copy_n(x.row_f32(r) + half, width - half, part.row_f32(r) + half);
    }
    Delegate::linear(w, part, y);
    for (std::int64_t i = 0; i < y.elements(); ++i) y.f32()[i] += sum.f32()[i];
  }
};

class KeepNothing final : public Delegate {
 public:
  using Delegate::Delegate;
  void kv_keep(const Walk&, const Batch&, std::span<const KvLayer>) override {}
};

}  // namespace

std::unique_ptr<Ops> split_k_by_rows(std::unique_ptr<Ops> inner) {
  return std::make_unique<SplitK>(std::move(inner));
}

std::unique_ptr<Ops> keep_nothing(std::unique_ptr<Ops> inner) {
  return std::make_unique<KeepNothing>(std::move(inner));
}

}  // namespace foretoken
