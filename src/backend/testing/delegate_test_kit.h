#pragma once
// Delegate: a backend that passes every simple operation on to another, so that tests can change or
// count some of them. Operations that join others are taken apart by Ops itself. For tests only.

#include <memory>
#include <string>
#include <utility>

#include "backend/ops.h"

namespace foretoken {

class Delegate : public Ops {
 public:
  explicit Delegate(std::unique_ptr<Ops> inner) : inner_(std::move(inner)) {}

  std::string description() const override { return inner_->description(); }
  std::unique_ptr<PackedLinear> pack(const LinearParts& parts) override {
    return inner_->pack(parts);
  }
  std::unique_ptr<PackedLinear> pack_rows(const PackedLinear& w, std::span<const Token> rows,
                                          DType dtype, const WeightFormat& format) override {
    return inner_->pack_rows(w, rows, dtype, format);
  }
  std::string packed_layout() const override { return inner_->packed_layout(); }
  std::unique_ptr<PackedLinear> pack_again(const LinearShape& shape,
                                           const FillImage& fill) override {
    return inner_->pack_again(shape, fill);
  }
  void expect_routing(const Routing& routing) const override { inner_->expect_routing(routing); }
  void expect_experts(std::span<const ExpertLinears> experts) const override {
    inner_->expect_experts(experts);
  }
  Tensor alloc(DType dtype, Shape shape) override { return inner_->alloc(dtype, shape); }
  std::vector<KvLayer> alloc_kv(const KvShape& shape, int num_pages) override {
    return inner_->alloc_kv(shape, num_pages);
  }
  void release_kv(std::span<const PageId> pages) override { inner_->release_kv(pages); }
  std::size_t kv_page_bytes(const KvShape& shape) const override {
    return inner_->kv_page_bytes(shape);
  }
  std::size_t state_bytes(const KvShape& shape) const override {
    return inner_->state_bytes(shape);
  }
  void upload(Tensor host, Tensor to) override { inner_->upload(host, to); }
  Tensor keep_rows(Tensor matrix, DType dtype) override { return inner_->keep_rows(matrix, dtype); }
  Tensor temp(DType dtype, Shape shape) override { return inner_->temp(dtype, shape); }
  Arena::Mark mark() const override { return inner_->mark(); }
  void release(const Arena::Mark& mark) override { inner_->release(mark); }
  void release_scratch() override { inner_->release_scratch(); }
  std::size_t workspace_bytes(const ForwardSize& size) const override {
    return inner_->workspace_bytes(size);
  }
  std::size_t most_step_bytes() const override { return inner_->most_step_bytes(); }
  void layout(const StepPlan& plan, const DraftTrees& trees, const SeqTable& table,
              Batch& batch) override {
    inner_->layout(plan, trees, table, batch);
  }
  void embed(const PackedLinear& table, std::span<const Token> tokens, Tensor out) override {
    inner_->embed(table, tokens, out);
  }
  void look_up(Tensor table, std::span<const Token> tokens, Tensor out) override {
    inner_->look_up(table, tokens, out);
  }
  void norm(Tensor x, Tensor weight, float eps, Tensor out) override {
    inner_->norm(x, weight, eps, out);
  }
  void add_norm(Tensor residual, Tensor delta, Tensor weight, float eps, Tensor out) override {
    inner_->add_norm(residual, delta, weight, eps, out);
  }
  void add(Tensor residual, Tensor delta) override { inner_->add(residual, delta); }
  void scale(Tensor x, float factor) override { inner_->scale(x, factor); }
  void soft_cap(Tensor x, float cap) override { inner_->soft_cap(x, cap); }
  void linear(const PackedLinear& w, Tensor x, Tensor y) override { inner_->linear(w, x, y); }
  void linear_heads(HeadLinears w, Tensor x, Tensor y) override { inner_->linear_heads(w, x, y); }
  void store_latent(const LatentRows& latent, const RopeTable& rope, const AttentionShape& shape,
                    const Batch& batch, const KvLayer& kv, Tensor q) override {
    inner_->store_latent(latent, rope, shape, batch, kv, q);
  }
  void rope_store_kv(Tensor qkv, const RopeTable& rope, const QkNorm& qk_norm,
                     const AttentionShape& shape, const Batch& batch, const KvLayer& kv,
                     Tensor q) override {
    inner_->rope_store_kv(qkv, rope, qk_norm, shape, batch, kv, q);
  }
  const AttentionPlan& plan_attention(const AttentionShape& shape, const Batch& batch) override {
    return inner_->plan_attention(shape, batch);
  }
  void attention(Tensor q, const KvLayer& kv, const AttentionPlan& plan, Tensor out) override {
    inner_->attention(q, kv, plan, out);
  }
  void route(Tensor logits, const Routing& routing, const RouterVectors& vectors, Tensor chosen,
             Tensor weights) override {
    inner_->route(logits, routing, vectors, chosen, weights);
  }
  void mix_experts(std::span<const ExpertLinears> experts, Activation act, Tensor x, Tensor chosen,
                   Tensor weights, Tensor out) override {
    inner_->mix_experts(experts, act, x, chosen, weights, out);
  }
  void gate_rows(Tensor x, Tensor gate) override { inner_->gate_rows(x, gate); }
  void centre(Tensor x, Tensor out) override { inner_->centre(x, out); }
  void norm_groups(Tensor x, Tensor weight, float eps) override {
    inner_->norm_groups(x, weight, eps);
  }
  void gate(Tensor x, Tensor gate, GateCurve curve) override { inner_->gate(x, gate, curve); }
  void recur(const RecurrentRows& rows, const RecurrentWeights& weights, const Batch& batch,
             const KvLayer& kv, Tensor out) override {
    inner_->recur(rows, weights, batch, kv, out);
  }
  void gated_act(Tensor gate_up, Activation act, Tensor out) override {
    inner_->gated_act(gate_up, act, out);
  }
  void gather_columns(Tensor x, std::span<const std::int32_t> rows, Tensor out,
                      std::int64_t column) override {
    inner_->gather_columns(x, rows, out, column);
  }
  void verify(const StepPlan& plan, const DraftTrees& trees, const Batch& batch, Tensor logits,
              Walk& walk) override {
    inner_->verify(plan, trees, batch, logits, walk);
  }
  void copy_rows(Tensor x, std::span<const std::int32_t> from, Tensor out,
                 std::span<const std::int32_t> to) override {
    inner_->copy_rows(x, from, out, to);
  }
  void join_columns(Tensor a, Tensor b, Tensor out) override { inner_->join_columns(a, b, out); }
  void add_elements(Tensor x, std::span<const Addend> addends) override {
    inner_->add_elements(x, addends);
  }
  void read_back() override { inner_->read_back(); }
  void read_rows(Tensor x, std::span<const std::int32_t> rows, std::vector<float>& out) override {
    inner_->read_rows(x, rows, out);
  }
  void top_tokens(Tensor logits, int k, TopTokens& out) override {
    inner_->top_tokens(logits, k, out);
  }
  void draw_tokens(Tensor logits, std::span<const Token> ids, std::int64_t vocab,
                   std::span<const DrawRow> rows, int k, DrawnTokens& out) override {
    inner_->draw_tokens(logits, ids, vocab, rows, k, out);
  }
  void kv_keep(const Walk& walk, const Batch& batch, std::span<const KvLayer> layers) override {
    inner_->kv_keep(walk, batch, layers);
  }
  void copy_states(std::span<const StateCopy> copies, std::span<const KvLayer> layers) override {
    inner_->copy_states(copies, layers);
  }

 private:
  std::unique_ptr<Ops> inner_;
};

}  // namespace foretoken
