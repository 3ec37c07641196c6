#include "backend/testing/delayed_ops.h"

#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "backend/testing/far_memory.h"
#include "backend/testing/job_queue.h"
#include "base/index.h"
#include "base/rng.h"

namespace foretoken {
namespace {

constexpr std::size_t kScratch = std::size_t{32} << 30;  // offset of scratch in far memory

// What alloc_kv made of a layer.
std::array<Tensor*, 10> parts_of(KvLayer& kv) {
  StateLayer& states = kv.states;
  return {&kv.k,        &kv.v,          &kv.k_scale,  &kv.v_scale,     &states.state,
          &states.tail, &states.inputs, &states.keys, &states.updates, &states.decays};
}

// What the inner backend made of a batch that the caller may change.
struct DelayedPlan final : AttentionPlan, std::enable_shared_from_this<DelayedPlan> {
  Batch taken;
  const AttentionPlan* inner = nullptr;
};

class DelayedOps final : public Ops {
 public:
  DelayedOps(std::unique_ptr<Ops> inner, std::uint64_t seed)
      : inner_(std::move(inner)), seed_(seed) {}

  std::string description() const override { return inner_->description() + ", delayed"; }
  void adopt_thread() override {
    enqueue([this] { inner_->adopt_thread(); });
  }

  // ---- load time: nobody is in a hurry, so these wait

  std::unique_ptr<PackedLinear> pack(const LinearParts& parts) override {
    queue_.drain();
    std::vector<Tensor> weights(parts.weights.begin(), parts.weights.end());
    for (Tensor& weight : weights)
      if (far_.has(weight)) weight = far_.real(weight);
    LinearParts near = parts;
    near.weights = weights;
    return inner_->pack(near);
  }
  std::unique_ptr<PackedLinear> pack_rows(const PackedLinear& w, std::span<const Token> rows,
                                          DType dtype, const WeightFormat& format) override {
    queue_.drain();
    return inner_->pack_rows(w, rows, dtype, format);
  }
  Tensor alloc(DType dtype, Shape shape) override {
    queue_.drain();
    return keep(inner_->alloc(dtype, shape));
  }
  std::vector<KvLayer> alloc_kv(const KvShape& shape, int num_pages) override {
    queue_.drain();
    std::vector<KvLayer> layers = inner_->alloc_kv(shape, num_pages);
    for (KvLayer& layer : layers)
      for (Tensor* part : parts_of(layer))
        if (!part->empty()) *part = keep(*part);
    return layers;
  }
  void release_kv(std::span<const PageId> pages) override {
    queue_.drain();
    inner_->release_kv(pages);
  }
  void expect_routing(const Routing& routing) const override { inner_->expect_routing(routing); }
  void expect_experts(std::span<const ExpertLinears> experts) const override {
    inner_->expect_experts(experts);
  }
  std::size_t kv_page_bytes(const KvShape& shape) const override {
    return inner_->kv_page_bytes(shape);
  }
  std::size_t state_bytes(const KvShape& shape) const override {
    return inner_->state_bytes(shape);
  }
  Tensor keep_rows(Tensor matrix, DType dtype) override {
    queue_.drain();
    return keep(inner_->keep_rows(matrix, dtype));
  }

  std::vector<TunedProduct> tune(int max_rows, std::span<const TunedProduct> known) override {
    queue_.drain();
    return inner_->tune(max_rows, known);
  }

  void upload(Tensor host, Tensor to) override {
    const auto* bytes = static_cast<const std::byte*>(host.data());
    std::vector<std::byte> taken(bytes, bytes + host.bytes());
    enqueue([this, taken = std::move(taken), host, to]() mutable {
      inner_->upload({taken.data(), host.dtype(), host.shape()}, far_.real(to));
    });
  }

  // ---- one step

  // Scratch is given out in the order of the queue, so its places are known there only.
  Tensor temp(DType dtype, Shape shape) override {
    const Tensor far(far_.address(kScratch + scratch_), dtype, shape);
    scratch_ += (far.bytes() + 63) / 64 * 64;
    enqueue([this, far] {
      const Tensor real = inner_->temp(far.dtype(), far.shape());
      std::memset(real.data(), 0xFF, real.bytes());
      far_.map(far, real);
    });
    return far;
  }
  Arena::Mark mark() const override {
    const std::size_t number = next_mark_++;
    enqueue([this, number] { marks_[number] = inner_->mark(); });
    return {.block = number, .offset = scratch_};
  }
  void release(const Arena::Mark& mark) override {
    scratch_ = mark.offset;
    enqueue([this, number = mark.block] { inner_->release(marks_.at(number)); });
  }
  void release_scratch() override {
    enqueue([this] { inner_->release_scratch(); });
  }
  std::size_t workspace_bytes(const ForwardSize& size) const override {
    return inner_->workspace_bytes(size);
  }
  std::size_t most_step_bytes() const override {
    queue_.drain();
    return inner_->most_step_bytes();
  }

  void layout(const StepPlan& plan, const DraftTrees& trees, const SeqTable& table,
              Batch& batch) override {
    wanted_.clear();
    plans_.clear();
    scratch_ = 0;
    queue_.forget_failure();
    queue_.drain();  // the inner one lays out what the host holds
    marks_.clear();
    inner_->layout(plan, trees, table, batch);
  }

  void embed(const PackedLinear& table, std::span<const Token> tokens, Tensor out) override {
    enqueue([this, &table, tokens = copy(tokens), out] {
      inner_->embed(table, tokens, far_.real(out));
    });
  }
  void look_up(Tensor table, std::span<const Token> tokens, Tensor out) override {
    enqueue([this, table, tokens = copy(tokens), out] {
      inner_->look_up(far_.real(table), tokens, far_.real(out));
    });
  }
  void norm(Tensor x, Tensor weight, float eps, Tensor out) override {
    enqueue([=, this] { inner_->norm(far_.real(x), far_.real(weight), eps, far_.real(out)); });
  }
  void centre(Tensor x, Tensor out) override {
    enqueue([=, this] { inner_->centre(far_.real(x), far_.real(out)); });
  }
  void norm_groups(Tensor x, Tensor weight, float eps) override {
    enqueue([=, this] { inner_->norm_groups(far_.real(x), far_.real(weight), eps); });
  }
  void add_norm(Tensor residual, Tensor delta, Tensor weight, float eps, Tensor out) override {
    enqueue([=, this] {
      inner_->add_norm(far_.real(residual), far_.real(delta), far_.real(weight), eps,
                       far_.real(out));
    });
  }
  void add(Tensor residual, Tensor delta) override {
    enqueue([=, this] { inner_->add(far_.real(residual), far_.real(delta)); });
  }
  void scale(Tensor x, float factor) override {
    enqueue([=, this] { inner_->scale(far_.real(x), factor); });
  }
  void soft_cap(Tensor x, float cap) override {
    enqueue([=, this] { inner_->soft_cap(far_.real(x), cap); });
  }
  void linear(const PackedLinear& w, Tensor x, Tensor y) override {
    enqueue([=, this, &w] { inner_->linear(w, far_.real(x), far_.real(y)); });
  }
  void linear_heads(HeadLinears w, Tensor x, Tensor y) override {
    enqueue([=, this] { inner_->linear_heads(w, far_.real(x), far_.real(y)); });
  }
  void store_latent(const LatentRows& latent, const RopeTable& rope, const AttentionShape& shape,
                    const Batch& batch, const KvLayer& kv, Tensor q) override {
    enqueue([=, this] {
      LatentRows rows = latent;
      for (Tensor* part : {&rows.kv, &rows.q, &rows.norm}) *part = far_.real(*part);
      inner_->store_latent(rows, real(rope), shape, batch, real(kv), far_.real(q));
    });
  }
  void rope_store_kv(Tensor qkv, const RopeTable& rope, const QkNorm& qk_norm,
                     const AttentionShape& shape, const Batch& batch, const KvLayer& kv,
                     Tensor q) override {
    enqueue([=, this] {
      inner_->rope_store_kv(far_.real(qkv), real(rope), real(qk_norm), shape, batch, real(kv),
                            far_.real(q));
    });
  }
  void project_qkv(const PackedLinear& w, Tensor x, const RopeTable& rope, const QkNorm& qk_norm,
                   const AttentionShape& shape, const Batch& batch, const KvLayer& kv,
                   Tensor q) override {
    enqueue([=, this, &w] {
      inner_->project_qkv(w, far_.real(x), real(rope), real(qk_norm), shape, batch, real(kv),
                          far_.real(q));
    });
  }
  const AttentionPlan& plan_attention(const AttentionShape& shape, const Batch& batch) override {
    const auto plan = std::make_shared<DelayedPlan>();
    plan->taken = batch;
    plan->shape = shape;
    plan->batch = &plan->taken;
    plans_.push_back(plan);
    enqueue([this, plan] { plan->inner = &inner_->plan_attention(plan->shape, plan->taken); });
    return *plan;
  }
  void attention(Tensor q, const KvLayer& kv, const AttentionPlan& plan, Tensor out) override {
    enqueue([=, this, plan = taken(plan)] {
      inner_->attention(far_.real(q), real(kv), *plan->inner, far_.real(out));
    });
  }
  void attend(Tensor q, const KvLayer& kv, const AttentionPlan& plan, const PackedLinear& o,
              Tensor out) override {
    enqueue([=, this, &o, plan = taken(plan)] {
      inner_->attend(far_.real(q), real(kv), *plan->inner, o, far_.real(out));
    });
  }
  void gated_act(Tensor gate_up, Activation act, Tensor out) override {
    enqueue([=, this] { inner_->gated_act(far_.real(gate_up), act, far_.real(out)); });
  }
  void gated_mlp(const PackedLinear& gate_up, const PackedLinear& down, Activation act, Tensor x,
                 Tensor out) override {
    enqueue([=, this, &gate_up, &down] {
      inner_->gated_mlp(gate_up, down, act, far_.real(x), far_.real(out));
    });
  }
  void route(Tensor logits, const Routing& routing, const RouterVectors& vectors, Tensor chosen,
             Tensor weights) override {
    enqueue([=, this] {
      inner_->route(far_.real(logits), routing,
                    {.bias = far_.real(vectors.bias), .scale = far_.real(vectors.scale)},
                    far_.real(chosen), far_.real(weights));
    });
  }
  void mix_experts(std::span<const ExpertLinears> experts, Activation act, Tensor x, Tensor chosen,
                   Tensor weights, Tensor out) override {
    enqueue([=, this, experts = copy(experts)] {
      inner_->mix_experts(experts, act, far_.real(x), far_.real(chosen), far_.real(weights),
                          far_.real(out));
    });
  }
  void gate_rows(Tensor x, Tensor gate) override {
    enqueue([=, this] { inner_->gate_rows(far_.real(x), far_.real(gate)); });
  }
  void gate(Tensor x, Tensor gate, GateCurve curve) override {
    enqueue([=, this] { inner_->gate(far_.real(x), far_.real(gate), curve); });
  }
  void recur(const RecurrentRows& rows, const RecurrentWeights& weights, const Batch& batch,
             const KvLayer& kv, Tensor out) override {
    enqueue([=, this, rows = rows, weights = weights]() mutable {
      for (Tensor* part : {&rows.inputs, &rows.dt, &rows.beta, &weights.taps, &weights.taps_bias,
                           &weights.dt_bias, &weights.rate, &weights.skip})
        *part = far_.real(*part);
      inner_->recur(rows, weights, batch, real(kv), far_.real(out));
    });
  }
  void gather_columns(Tensor x, std::span<const std::int32_t> rows, Tensor out,
                      std::int64_t column) override {
    enqueue([=, this, rows = copy(rows)] {
      inner_->gather_columns(far_.real(x), rows, far_.real(out), column);
    });
  }
  void copy_rows(Tensor x, std::span<const std::int32_t> from, Tensor out,
                 std::span<const std::int32_t> to) override {
    enqueue([=, this, from = copy(from), to = copy(to)] {
      inner_->copy_rows(far_.real(x), from, far_.real(out), to);
    });
  }
  void join_columns(Tensor a, Tensor b, Tensor out) override {
    enqueue([=, this] { inner_->join_columns(far_.real(a), far_.real(b), far_.real(out)); });
  }
  void add_elements(Tensor x, std::span<const Addend> addends) override {
    enqueue([=, this, addends = copy(addends)] { inner_->add_elements(far_.real(x), addends); });
  }

  // ---- what the host wants to know

  void read_back() override {
    queue_.drain();
    for (const auto& deliver : std::exchange(wanted_, {})) deliver();
  }
  void top_tokens(Tensor logits, int k, TopTokens& out) override {
    const auto found = want(out);
    enqueue([=, this] { inner_->top_tokens(far_.real(logits), k, *found); });
  }
  void read_rows(Tensor x, std::span<const std::int32_t> rows, std::vector<float>& out) override {
    const auto found = want(out);
    enqueue([=, this, rows = copy(rows)] { inner_->read_rows(far_.real(x), rows, *found); });
  }
  void draw_tokens(Tensor logits, std::span<const Token> ids, std::int64_t vocab,
                   std::span<const DrawRow> rows, int k, DrawnTokens& out) override {
    const auto found = want(out);
    std::vector<std::vector<Token>> ancestors;
    for (const DrawRow& row : rows) ancestors.push_back(copy(row.context.ancestors));
    enqueue(
        [=, this, ids = copy(ids), rows = copy(rows), ancestors = std::move(ancestors)]() mutable {
          for (std::size_t i = 0; i < rows.size(); ++i) rows[i].context.ancestors = ancestors[i];
          inner_->draw_tokens(far_.real(logits), ids, vocab, rows, k, *found);
        });
  }
  void verify(const StepPlan& plan, const DraftTrees& trees, const Batch& batch, Tensor logits,
              Walk& walk) override {
    const auto found = want(walk);
    enqueue([=, this, &plan, &trees] {
      inner_->verify(plan, trees, batch, far_.real(logits), *found);
    });
  }
  void kv_keep(const Walk& walk, const Batch& batch, std::span<const KvLayer> layers) override {
    enqueue([=, this, layers = copy(layers)]() mutable {
      for (KvLayer& layer : layers) layer = real(layer);
      inner_->kv_keep(walk, batch, layers);
    });
  }
  void copy_states(std::span<const StateCopy> copies, std::span<const KvLayer> layers) override {
    enqueue([=, this, copies = copy(copies), layers = copy(layers)]() mutable {
      for (KvLayer& layer : layers) layer = real(layer);
      inner_->copy_states(copies, layers);
    });
  }

 private:
  template <typename T>
  static std::vector<std::remove_const_t<T>> copy(std::span<T> values) {
    return {values.begin(), values.end()};
  }

  void enqueue(std::function<void()> job) const {
    constexpr std::uint64_t kSlow = 16, kLongest = 100;  // one in so many, microseconds
    const std::uint64_t draw = mix_seed(seed_, ++jobs_);
    const auto delay = std::chrono::microseconds(draw % kSlow == 0 ? draw / kSlow % kLongest : 0);
    queue_.push([delay, job = std::move(job)] {
      if (delay.count() > 0) std::this_thread::sleep_for(delay);
      job();
    });
  }

  // Far addresses for memory that stays.
  Tensor keep(const Tensor& real) {
    const Tensor far(far_.address(kept_), real.dtype(), real.shape());
    kept_ += (far.bytes() + 63) / 64 * 64;
    far_.map(far, real);
    return far;
  }

  // Where the queue writes what read_back() moves to `out`.
  template <typename T>
  std::shared_ptr<T> want(T& out) {
    auto found = std::make_shared<T>();
    wanted_.push_back([found, &out] { out = std::move(*found); });
    return found;
  }

  KvLayer real(KvLayer kv) const {
    for (Tensor* part : parts_of(kv)) *part = far_.real(*part);
    kv.sinks = far_.real(kv.sinks);
    return kv;
  }
  RopeTable real(const RopeTable& rope) const {
    return {.cos = far_.real(rope.cos), .sin = far_.real(rope.sin), .rotary_dim = rope.rotary_dim};
  }
  QkNorm real(const QkNorm& norm) const {
    return {.q_weight = far_.real(norm.q_weight),
            .k_weight = far_.real(norm.k_weight),
            .eps = norm.eps};
  }
  static std::shared_ptr<const DelayedPlan> taken(const AttentionPlan& plan) {
    return static_cast<const DelayedPlan&>(plan).shared_from_this();
  }

  std::unique_ptr<Ops> inner_;
  const std::uint64_t seed_;
  std::size_t kept_ = 0, scratch_ = 0;  // bytes given out
  std::vector<std::shared_ptr<DelayedPlan>> plans_;
  std::vector<std::function<void()>> wanted_;
  mutable std::uint64_t jobs_ = 0;
  mutable std::size_t next_mark_ = 0;

  // Of the queue's thread, and of the host while the queue is empty.
  FarMemory far_;
  mutable std::map<std::size_t, Arena::Mark> marks_;

  mutable JobQueue queue_;  // last: its thread ends first
};

}  // namespace

std::unique_ptr<Ops> make_delayed(std::unique_ptr<Ops> inner, std::uint64_t seed) {
  return std::make_unique<DelayedOps>(std::move(inner), seed);
}

}  // namespace foretoken
