#include "backend/vulkan/vulkan_ops.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "backend/float_view.h"
#include "backend/host/host_states.h"
#include "backend/host/host_step.h"
#include "backend/vulkan/arithmetic.h"
#include "backend/vulkan/context.h"
#include "backend/vulkan/matrix_tables.h"
#include "backend/vulkan/read_speed.h"
#include "backend/vulkan/rounded_twin.h"
#include "backend/vulkan/units_audit.h"
#include "backend/vulkan/vulkan_attention.h"
#include "backend/vulkan/vulkan_experts.h"
#include "backend/vulkan/vulkan_linear.h"
#include "backend/vulkan/vulkan_products.h"
#include "backend/vulkan/vulkan_results.h"
#include "backend/vulkan/vulkan_rows.h"
#include "backend/vulkan/vulkan_states.h"
#include "base/index.h"
#include "base/log.h"
#include "tensor/buffer.h"

namespace foretoken {
namespace {

const VulkanLinear& packed(const PackedLinear& w) { return static_cast<const VulkanLinear&>(w); }

class VulkanOps final : public Ops {
 public:
  VulkanOps(std::shared_ptr<VulkanContext> context, bool has_bits_of_cpu, std::unique_ptr<Ops> host,
            ThreadPool& pool)
      : context_(std::move(context)),
        has_bits_of_cpu_(has_bits_of_cpu),
        pool_(pool),
        store_(*context_),
        scratch_(*context_),
        attention_(*context_),
        twin_(*context_),
        rows_(*context_, twin_),
        products_(*context_, twin_, scratch_),
        tables_(*context_),
        experts_(*context_, products_, scratch_, tables_),
        states_(*context_, scratch_),
        host_(std::move(host)),
        results_(*context_, scratch_, *host_, pool) {}

  std::string description() const override {
    const MatrixUnits& units = context_->units;
    const bool is_mma = units.fp16.is_there() || units.bf16.is_there();
    std::string order = is_mma ? "mma order" : "tile order";
    if (units.any()) order += " by matrix units of " + units.str();
    return "vulkan " + context_->gpu.facts().name + ", " + order + ", bits " +
           (has_bits_of_cpu_ && !is_mma ? "of the CPU's" : "of its own") +
           "; sampling on the host: " + host_->description();
  }

  MemoryRoom memory_room() const override {
    const DeviceFacts facts = context_->gpu.facts_now();
    return {.total_bytes = facts.memory_bytes, .available_bytes = facts.available_bytes};
  }

  Roof measure_roof(const Tensor&) override { return {.read_bytes_per_s = read_speed(*context_)}; }

  // ---- load time

  std::unique_ptr<PackedLinear> pack(const LinearParts& parts) override {
    std::vector<Tensor> weights(parts.weights.begin(), parts.weights.end());
    std::vector<std::vector<std::byte>> fetched;  // what keep_rows gave
    for (Tensor& weight : weights) {
      if (!context_->gpu.owns(weight)) continue;
      fetched.push_back(context_->fetch(address_of(weight), weight.bytes()));
      weight = Tensor(fetched.back().data(), weight.dtype(), weight.shape());
    }
    LinearParts near = parts;
    near.weights = weights;
    return std::make_unique<VulkanLinear>(context_, near, pool_);
  }

  std::unique_ptr<PackedLinear> pack_rows(const PackedLinear& w, std::span<const Token> rows,
                                          DType dtype, const WeightFormat& format) override {
    const auto count = static_cast<std::int64_t>(rows.size());
    const GpuBlock block(context_->gpu, at(count * w.in_width()) * sizeof(float),
                         MemoryUse::kDevice);
    const Tensor matrix = tensor_at(block.address(), DType::kF32, {count, w.in_width()});
    embed(w, rows, matrix);
    return pack({.weights = {&matrix, 1}, .biases = {}, .dtype = dtype, .format = format});
  }

  void expect_routing(const Routing& routing) const override {
    VulkanExperts::expect_routing(routing);
  }
  void expect_experts(std::span<const ExpertLinears> experts) const override {
    VulkanExperts::expect_held(experts);
  }

  Tensor alloc(DType dtype, Shape shape) override { return store_.alloc(dtype, shape); }

  std::vector<KvLayer> alloc_kv(const KvShape& shape, int num_pages) override {
    VulkanAttention::expect_holds(shape);
    return alloc_host_kv([this](DType dtype, Shape of) { return store_.alloc(dtype, of); }, shape,
                         num_pages);
  }
  std::size_t kv_page_bytes(const KvShape& shape) const override {
    return host_kv_page_bytes(shape);
  }
  std::size_t state_bytes(const KvShape& shape) const override { return host_state_bytes(shape); }

  void upload(Tensor host, Tensor to) override {
    CHECK(host.dtype() == to.dtype() && host.shape() == to.shape())
        << host.shape().str() << " to " << to.shape().str();
    twin_.forget();
    const auto* from = static_cast<const std::byte*>(host.data());
    context_->load(address_of(to), host.bytes(),
                   [&](std::size_t offset, std::span<std::byte> piece) {
                     std::memcpy(piece.data(), from + offset, piece.size());
                   });
  }

  Tensor keep_rows(Tensor matrix, DType dtype) override {
    expect(matrix, {-1, -1}, matrix.dtype());
    CHECK(dtype == DType::kBF16 || dtype == DType::kF16 || dtype == DType::kF32)
        << dtype_name(dtype);
    const Buffer memory(at(matrix.elements()) * dtype_bytes(dtype));
    const Tensor near = memory.view(dtype, matrix.shape());
    pool_.parallel_for(static_cast<int>(near.dim(0)), [&](int r, int) {
      for (std::int64_t i = r * near.dim(1); i < (r + 1) * near.dim(1); ++i)
        store_float(near.data(), dtype, i, load_float(matrix.data(), matrix.dtype(), i));
    });
    const Tensor rows = store_.alloc(dtype, matrix.shape());
    upload(near, rows);
    return rows;
  }

  // ---- one step

  Tensor temp(DType dtype, Shape shape) override { return scratch_.alloc(dtype, shape); }
  Arena::Mark mark() const override { return scratch_.mark(); }
  void release(const Arena::Mark& mark) override { scratch_.release(mark); }

  // Rounded inputs and a twin of them; what lies between the parts of joined operations; logits on the host.
  std::size_t workspace_bytes(const ForwardSize& size) const override {
    const AttentionShape& a = size.attention;
    const std::int64_t qkv = (a.heads + 2 * a.kv_heads) * a.head_dim;
    const std::int64_t between = std::max(qkv, 3 * size.intermediate);
    const std::size_t states = at(VulkanAttention::kMostParts * (a.head_dim + 2)) * sizeof(float);
    const std::int64_t rounded =
        round_up(std::max({size.widest_input, size.intermediate, size.hidden}), 32);
    return at(size.rows) * (at(between) * sizeof(float) + at(rounded) * 4) +
           at(size.rows * a.heads * round_up(size.head_input, 32) * 2) +
           at(VulkanExperts::workspace_bytes(size)) + VulkanResults::workspace_bytes(size) +
           VulkanStates::workspace_bytes(size) + at(pool_.size() * size.vocab) * sizeof(float) +
           states + kSlack;
  }
  std::size_t most_step_bytes() const override { return scratch_.most_bytes() + kSlack; }

  void layout(const StepPlan& plan, const DraftTrees& trees, const SeqTable& table,
              Batch& batch) override {
    results_.forget();
    twin_.forget();
    attention_.forget();
    states_.forget();
    scratch_.reset();
    context_->recorder.begin_frame();
    context_->pipelines.step();
    layout_rows(plan, trees, table, batch);
  }

  void embed(const PackedLinear& table, std::span<const Token> tokens, Tensor out) override {
    const VulkanLinear& w = packed(table);
    expect(out, {static_cast<std::int64_t>(tokens.size()), w.in_width()}, DType::kF32);
    products_.rows(w, tokens, out);
  }

  void look_up(Tensor table, std::span<const Token> tokens, Tensor out) override {
    rows_.look_up(table, tokens, out);
  }

  void norm(Tensor x, Tensor weight, float eps, Tensor out) override {
    rows_.norm(x, weight, eps, out);
  }

  void centre(Tensor x, Tensor out) override { rows_.centre(x, out); }

  void norm_groups(Tensor x, Tensor weight, float eps) override {
    rows_.norm_groups(x, weight, eps);
  }

  void add_norm(Tensor residual, Tensor delta, Tensor weight, float eps, Tensor out) override {
    rows_.add_norm(residual, delta, weight, eps, out);
  }

  void add(Tensor residual, Tensor delta) override { rows_.add(residual, delta); }
  void scale(Tensor x, float factor) override { rows_.scale(x, factor); }
  void soft_cap(Tensor x, float cap) override { rows_.soft_cap(x, cap); }

  void linear(const PackedLinear& weights, Tensor x, Tensor y) override {
    const VulkanLinear& w = packed(weights);
    expect(x, {-1, w.in_width()}, DType::kF32);
    expect(y, {x.dim(0), w.out_width()}, DType::kF32);
    const ScratchScope rounded_only(*this);
    products_.linear(w, x, y);
  }

  // Heads of rows are rows, which take the matrices in turns.
  void linear_heads(HeadLinears w, Tensor x, Tensor y) override {
    const auto heads = static_cast<std::int64_t>(w.size());
    expect(x, {-1, -1}, DType::kF32);
    expect(y, {x.dim(0), y.dim(1)}, DType::kF32);
    CHECK(heads > 0 && x.dim(1) % heads == 0 && y.dim(1) % heads == 0) << heads << " heads";
    const std::int64_t from = x.dim(1) / heads, to = y.dim(1) / heads;
    CHECK(from >= w[0]->in_width() && to >= w[0]->out_width());
    std::vector<const VulkanLinear*> all;
    for (const auto& matrix : w) all.push_back(&packed(*matrix));
    const RowChoice choice{.matrices = tables_.of(all), .turns = heads};
    const std::int64_t most = kMostGroups / heads;
    for (std::int64_t first = 0; first < x.dim(0); first += most) {
      const ScratchScope rounded_only(*this);
      const std::int64_t rows = std::min(most, x.dim(0) - first);
      products_.linear_chosen(
          *all[0], choice,
          tensor_at(address_of(x.rows(first, rows)), DType::kF32, {rows * heads, from}),
          tensor_at(address_of(y.rows(first, rows)), DType::kF32, {rows * heads, to}));
    }
  }

  void store_latent(const LatentRows& latent, const RopeTable& rope, const AttentionShape& shape,
                    const Batch& batch, const KvLayer& kv, Tensor q) override {
    expect_latent(latent, rope, shape, batch, kv, q);
    twin_.forget();
    attention_.store_latent(latent, rope, shape, batch, kv, q);
  }

  void rope_store_kv(Tensor qkv, const RopeTable& rope, const QkNorm& qk_norm,
                     const AttentionShape& shape, const Batch& batch, const KvLayer& kv,
                     Tensor q) override {
    const std::int64_t dim = shape.head_dim;
    expect(qkv, {batch.rows, (shape.heads + 2 * shape.kv_heads) * dim}, DType::kF32);
    expect(q, {batch.rows, shape.heads * dim}, DType::kF32);
    if (shape.kv_heads > 0) expect(kv.k, {-1, shape.kv_heads, dim, kPageTokens}, kv.k.dtype());
    twin_.forget();
    attention_.store(qkv, rope, qk_norm, shape, batch, kv, q);
  }

  void project_qkv(const PackedLinear& w, Tensor x, const RopeTable& rope, const QkNorm& qk_norm,
                   const AttentionShape& shape, const Batch& batch, const KvLayer& kv,
                   Tensor q) override {
    const ScratchScope between_only(*this);
    StepOps::project_qkv(w, x, rope, qk_norm, shape, batch, kv, q);
  }

  const AttentionPlan& plan_attention(const AttentionShape& shape, const Batch& batch) override {
    return attention_.plan(shape, batch);
  }
  void attention(Tensor q, const KvLayer& kv, const AttentionPlan& plan, Tensor out) override {
    const AttentionShape& shape = plan.shape;
    expect(q, {plan.batch->rows, shape.heads * shape.head_dim}, DType::kF32);
    expect(out, {plan.batch->rows, shape.heads * shape.out_dim()}, DType::kF32);
    twin_.forget();
    const bool has_twin = out.dim(1) % VulkanLinear::kBlock == 0;
    attention_.run(q, kv, plan, out, has_twin ? twin_.make(out) : 0, scratch_);
  }
  void attend(Tensor q, const KvLayer& kv, const AttentionPlan& plan, const PackedLinear& o,
              Tensor out) override {
    const ScratchScope between_only(*this);
    StepOps::attend(q, kv, plan, o, out);
  }

  void gated_act(Tensor gate_up, Activation act, Tensor out) override {
    products_.gated_act(gate_up, act, out);
  }
  void gated_mlp(const PackedLinear& gate_up, const PackedLinear& down, Activation act, Tensor x,
                 Tensor out) override {
    const ScratchScope between_only(*this);
    StepOps::gated_mlp(gate_up, down, act, x, out);
  }

  void route(Tensor logits, const Routing& routing, const RouterVectors& vectors, Tensor chosen,
             Tensor weights) override {
    experts_.route(logits, routing, vectors, chosen, weights);
    twin_.written(chosen);
    twin_.written(weights);
  }
  void mix_experts(std::span<const ExpertLinears> experts, Activation act, Tensor x, Tensor chosen,
                   Tensor weights, Tensor out) override {
    experts_.mix(experts, act, x, chosen, weights, out);
    twin_.forget();
  }
  void gate_rows(Tensor x, Tensor gate) override { rows_.gate_rows(x, gate); }

  void gate(Tensor x, Tensor gate, GateCurve curve) override { rows_.gate(x, gate, curve); }

  void recur(const RecurrentRows& rows, const RecurrentWeights& weights, const Batch& batch,
             const KvLayer& kv, Tensor out) override {
    const ScratchScope between_only(*this);
    twin_.forget();
    states_.recur(rows, weights, batch, kv.states, out);
  }

  void gather_columns(Tensor x, std::span<const std::int32_t> rows, Tensor out,
                      std::int64_t column) override {
    rows_.gather_columns(x, rows, out, column);
  }
  void copy_rows(Tensor x, std::span<const std::int32_t> from, Tensor out,
                 std::span<const std::int32_t> to) override {
    rows_.copy_rows(x, from, out, to);
  }
  void join_columns(Tensor a, Tensor b, Tensor out) override { rows_.join_columns(a, b, out); }

  void add_elements(Tensor x, std::span<const Addend> addends) override {
    rows_.add_elements(x, addends);
  }

  void kv_keep(const Walk& walk, const Batch& batch, std::span<const KvLayer> layers) override {
    attention_.move(walk, batch, layers);
    states_.keep(walk, batch, layers);
  }
  void copy_states(std::span<const StateCopy> copies, std::span<const KvLayer> layers) override {
    states_.copy(copies, layers);
  }

  // ---- what the host reads

  void read_back() override { results_.read_back(); }
  void read_rows(Tensor x, std::span<const std::int32_t> rows, std::vector<float>& out) override {
    results_.read_rows(x, rows, out);
  }
  void top_tokens(Tensor logits, int k, TopTokens& out) override {
    results_.top_tokens(logits, k, out);
  }
  void draw_tokens(Tensor logits, std::span<const Token> ids, std::int64_t vocab,
                   std::span<const DrawRow> rows, int k, DrawnTokens& out) override {
    results_.draw_tokens(logits, ids, vocab, rows, k, out);
  }
  void verify(const StepPlan& plan, const DraftTrees& trees, const Batch& batch, Tensor logits,
              Walk& walk) override {
    results_.verify(plan, trees, batch, logits, walk);
  }

 private:
  static constexpr std::size_t kSlack = std::size_t{4} << 20;  // of sent and received bytes

  const std::shared_ptr<VulkanContext> context_;
  const bool has_bits_of_cpu_;
  ThreadPool& pool_;
  GpuStore store_;
  GpuArena scratch_;
  VulkanAttention attention_;
  RoundedTwin twin_;
  VulkanRows rows_;
  VulkanProducts products_;
  MatrixTables tables_;
  VulkanExperts experts_;
  VulkanStates states_;
  const std::unique_ptr<Ops> host_;  // for what the host computes
  VulkanResults results_;
};

}  // namespace

std::unique_ptr<Ops> make_vulkan_backend(const VulkanOptions& options, const std::string& order,
                                         std::unique_ptr<Ops> host, ThreadPool& pool) {
  if (order != "auto" && order != "tile" && order != "mma")
    throw Error({.what = "the Vulkan backend adds in tile order, or by matrix units",
                 .where = "--gemm-order",
                 .expected = "auto, tile or mma",
                 .found = order});
  VulkanOptions opened = options;
  opened.wants_matrix_units = order == "mma";
  auto context = std::make_shared<VulkanContext>(opened);
  const Arithmetic arithmetic = probe_arithmetic(*context);
  if (!arithmetic.is_usable())
    throw Error({.what = "the device's arithmetic gives no reproducible order",
                 .where = context->gpu.facts().name,
                 .expected = "sums and products of float32 rounded to nearest, and fused "
                             "multiply-adds or float64",
                 .found = arithmetic.rounds_sums ? "neither of the last two" : "other sums"});
  if (order == "tile" && !arithmetic.has_bits_of_cpu())
    throw Error({.what = "the device rounds quotients or roots otherwise than the CPU",
                 .where = "--gemm-order tile",
                 .expected = "a device with the bits of the CPU (--gemm-order auto takes any)",
                 .found = context->gpu.facts().name});
  if (order == "mma" && !audited_units(context, pool).any())
    log_warning("{} has no matrix units that are fit for use: products are in tile order.",
                context->gpu.facts().name);
  return std::make_unique<VulkanOps>(std::move(context), arithmetic.has_bits_of_cpu(),
                                     std::move(host), pool);
}

}  // namespace foretoken
