#include "backend/cpu/cpu_ops.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <vector>

#include "backend/cpu/attention/attention.h"
#include "backend/cpu/attention/latent_call.h"
#include "backend/cpu/attention/rope_call.h"
#include "backend/cpu/experts/expert_mixer.h"
#include "backend/cpu/matmul/convert.h"
#include "backend/cpu/matmul/gemm.h"
#include "backend/cpu/matmul/listed_linear.h"
#include "backend/cpu/matmul/packed_linear.h"
#include "backend/cpu/matmul/product_tuner.h"
#include "backend/cpu/matmul/roof.h"
#include "backend/cpu/select/select_kernels.h"
#include "backend/cpu/table/kernels.h"
#include "backend/host/expert_rows.h"
#include "backend/host/host_ops.h"
#include "backend/kv_codes.h"
#include "base/index.h"
#include "tensor/buffer.h"

namespace foretoken {
namespace {

const CpuLinear& packed(const PackedLinear& w) { return static_cast<const CpuLinear&>(w); }

class CpuOps final : public HostOps {
 public:
  CpuOps(Isa isa, GemmOrder order, ThreadPool& pool)
      : HostOps(pool),
        isa_(isa),
        order_(order),
        table_(select_kernels(isa)),
        gemm_(table_, order, pool),
        attention_(table_.ops, pool),
        mixer_(gemm_, table_.ops, pool) {
    if (order == GemmOrder::kPair) {
      table_.ops.attention[0] = table_.ops.attention_pair;
      table_.ops.attention_queries = kAttnQueries;
    }
  }

  std::string description() const override {
    return "cpu " + std::string(isa_name(isa_)) + ", " + std::string(gemm_order_name(order_)) +
           " order, " + std::to_string(pool_.size()) + " threads";
  }

  std::unique_ptr<PackedLinear> pack(const LinearParts& parts) override {
    auto packed = std::make_unique<ListedLinear>(linears_, parts, pool_, gemm_.code_layout());
    gemm_.expect_weights(*packed);
    return packed;
  }

  std::string packed_layout() const override { return CpuLinear::layout_name(gemm_.code_layout()); }

  std::unique_ptr<PackedLinear> pack_again(const LinearShape& shape,
                                           const FillImage& fill) override {
    bool is_whole = false;
    auto packed =
        std::make_unique<ListedLinear>(linears_, shape, fill, pool_, gemm_.code_layout(), is_whole);
    if (!is_whole) return nullptr;
    gemm_.expect_weights(*packed);
    return packed;
  }

  // Takes memory of the system as it is written.
  Tensor alloc(DType dtype, Shape shape) override {
    owned_.emplace_back(at(shape.elements()) * dtype_bytes(dtype));
    return owned_.back().view(dtype, shape);
  }

  std::vector<KvLayer> alloc_kv(const KvShape& shape, int num_pages) override {
    auto layers =
        alloc_host_kv([this](DType dtype, Shape of) { return alloc(dtype, of); }, shape, num_pages);
    kv_.insert(kv_.end(), layers.begin(), layers.end());
    return layers;
  }
  void release_kv(std::span<const PageId> pages) override { release_host_kv(kv_, pages); }
  Tensor keep_rows(Tensor matrix, DType dtype) override {
    expect(matrix, {-1, -1}, matrix.dtype());
    owned_.emplace_back(at(matrix.elements()) * dtype_bytes(dtype));
    const Tensor rows = owned_.back().view(dtype, matrix.shape());
    pool_.parallel_for(static_cast<int>(rows.dim(0)), [&](int r, int) {
      convert(matrix.rows(r, 1).data(), matrix.dtype(), rows.rows(r, 1).data(), dtype, rows.dim(1));
    });
    return rows;
  }

  std::vector<TunedProduct> tune(int max_rows, std::span<const TunedProduct> known) override {
    return tune_products(gemm_, *linears_, max_rows, known);
  }

  void adopt_thread() override { pool_.pin_caller(); }

  Roof measure_roof(const Tensor& memory) override {
    const GemmKernels& gemm = order_ == GemmOrder::kTile ? table_.bf16_tile : table_.bf16_pair;
    return {.read_bytes_per_s = read_bandwidth(pool_, table_, memory.data(), memory.bytes()),
            .flops_per_s = peak_flops(pool_, gemm),
            .code_ops_per_s = peak_flops(pool_, table_.codes_row8)};
  }

  std::size_t workspace_bytes(const ForwardSize& size) const override {
    const AttentionShape& a = size.attention;
    const std::int64_t qkv = (a.heads + 2 * a.kv_heads) * a.head_dim;
    const std::int64_t between = std::max(qkv, 2 * size.intermediate) + size.intermediate;
    const std::size_t sampler = at(pool_.size() * size.vocab) * sizeof(float);
    return gemm_.workspace_bytes(size) + attention_.workspace_bytes(size) + sampler +
           ExpertMixer::workspace_bytes(size) + at(size.rows * between) * sizeof(float) +
           std::max(RopeCall::temp_floats(a), LatentCall::temp_floats(a)) * at(pool_.size()) *
               sizeof(float);
  }
  std::size_t most_step_bytes() const override {
    return scratch_.most_bytes() + gemm_.workspace_bytes() + attention_.workspace_bytes() +
           mixer_.workspace_bytes() + between_[0].bytes() + between_[1].bytes() +
           heads_.capacity() * sizeof(float);
  }

  void layout(const StepPlan& plan, const DraftTrees& trees, const SeqTable& table,
              Batch& batch) override {
    scratch_.reset();
    attention_.forget_plans();
    layout_rows(plan, trees, table, batch);
  }

  void embed(const PackedLinear& table, std::span<const Token> tokens, Tensor out) override {
    expect(out, {static_cast<std::int64_t>(tokens.size()), table.in_width()}, DType::kF32);
    constexpr std::int64_t kSpread = 16;  // rows that share each cache line of the packed matrix
    each_row(out.dim(0), kSpread * out.dim(1),
             [&](int r, int) { packed(table).gather_row(tokens[at(r)], out.row_f32(r)); });
  }

  void look_up(Tensor table, std::span<const Token> tokens, Tensor out) override {
    const std::int64_t width = table.dim(1);
    expect(out, {static_cast<std::int64_t>(tokens.size()), width}, DType::kF32);
    each_row(out.dim(0), width, [&](int r, int) {
      convert(table.rows(tokens[at(r)], 1).data(), table.dtype(), out.row_f32(r), DType::kF32,
              width);
    });
  }

  void norm(Tensor x, Tensor weight, float eps, Tensor out) override {
    expect(x, {-1, weight.dim(0)}, DType::kF32);
    expect(out, {x.dim(0), x.dim(1)}, DType::kF32);
    each_row(x.dim(0), x.dim(1), [&](int r, int) {
      table_.ops.norm(x.row_f32(r), weight.f32(), x.dim(1), eps, out.row_f32(r));
    });
  }

  void centre(Tensor x, Tensor out) override {
    expect(out, {x.dim(0), x.dim(1)}, DType::kF32);
    each_row(x.dim(0), x.dim(1),
             [&](int r, int) { table_.ops.centre(x.row_f32(r), x.dim(1), out.row_f32(r)); });
  }

  void norm_groups(Tensor x, Tensor weight, float eps) override {
    const std::int64_t groups = weight.dim(0), width = weight.dim(1);
    expect(x, {-1, groups * width}, DType::kF32);
    each_row(x.dim(0), x.dim(1), [&](int r, int) {
      for (std::int64_t g = 0; g < groups; ++g) {
        float* group = x.row_f32(r) + g * width;
        table_.ops.norm(group, weight.row_f32(g), width, eps, group);
      }
    });
  }

  void add_norm(Tensor residual, Tensor delta, Tensor weight, float eps, Tensor out) override {
    expect(residual, {-1, weight.dim(0)}, DType::kF32);
    expect(delta, {residual.dim(0), residual.dim(1)}, DType::kF32);
    expect(out, {residual.dim(0), residual.dim(1)}, DType::kF32);
    const std::int64_t width = residual.dim(1);
    each_row(residual.dim(0), 2 * width, [&](int r, int) {
      table_.ops.add(residual.row_f32(r), delta.row_f32(r), width);
      table_.ops.norm(residual.row_f32(r), weight.f32(), width, eps, out.row_f32(r));
    });
  }

  void add(Tensor residual, Tensor delta) override {
    expect(residual, {-1, -1}, DType::kF32);
    expect(delta, {residual.dim(0), residual.dim(1)}, DType::kF32);
    each_row(residual.dim(0), residual.dim(1), [&](int r, int) {
      table_.ops.add(residual.row_f32(r), delta.row_f32(r), residual.dim(1));
    });
  }

  void scale(Tensor x, float factor) override {
    expect(x, {-1, -1}, DType::kF32);
    each_row(x.dim(0), x.dim(1),
             [&](int r, int) { table_.ops.scale(x.row_f32(r), x.dim(1), factor); });
  }

  void soft_cap(Tensor x, float cap) override {
    expect(x, {-1, -1}, DType::kF32);
    each_row(x.dim(0), 8 * x.dim(1),
             [&](int r, int) { table_.ops.soft_cap(x.row_f32(r), x.dim(1), cap); });
  }

  void linear(const PackedLinear& w, Tensor x, Tensor y) override {
    expect(x, {-1, w.in_width()}, DType::kF32);
    expect(y, {x.dim(0), w.out_width()}, DType::kF32);
    if (x.dim(0) > 0) gemm_.run(packed(w), x.f32(), static_cast<int>(x.dim(0)), y.f32());
  }

  void linear_heads(HeadLinears w, Tensor x, Tensor y) override {
    const auto heads = static_cast<std::int64_t>(w.size());
    expect(x, {-1, -1}, DType::kF32);
    expect(y, {x.dim(0), y.dim(1)}, DType::kF32);
    CHECK(heads > 0 && x.dim(1) % heads == 0 && y.dim(1) % heads == 0) << heads << " heads";
    CHECK(x.dim(1) / heads >= w[0]->in_width() && y.dim(1) / heads >= w[0]->out_width());
    if (x.dim(0) > 0) gemm_.run_heads(w, x, y);
  }

  void store_latent(const LatentRows& latent, const RopeTable& rope, const AttentionShape& shape,
                    const Batch& batch, const KvLayer& kv, Tensor q) override {
    expect_latent(latent, rope, shape, batch, kv, q);
    heads_.resize(LatentCall::temp_floats(shape) * at(pool_.size()));
    const LatentCall call{table_.ops.store_latent[kv_format(kv.k.dtype())],
                          latent,
                          rope,
                          shape,
                          batch,
                          kv,
                          q,
                          heads_.data()};
    each_row(batch.rows, 4 * (shape.head_dim + shape.heads * rope.rotary_dim),
             [&](int r, int worker) { call.store(r, worker); });
  }

  void rope_store_kv(Tensor qkv, const RopeTable& rope, const QkNorm& qk_norm,
                     const AttentionShape& shape, const Batch& batch, const KvLayer& kv,
                     Tensor q) override {
    const std::int64_t dim = shape.head_dim;
    const std::int64_t width = (shape.heads + 2 * shape.kv_heads) * dim;
    expect(qkv, {batch.rows, width}, DType::kF32);
    expect(q, {batch.rows, shape.heads * dim}, DType::kF32);
    if (shape.kv_heads > 0) {
      expect(kv.k, {-1, shape.kv_heads, dim, kPageTokens}, kv.k.dtype());
      expect(kv.v, {-1, shape.kv_heads, kPageTokens, dim}, kv.k.dtype());
    }
    CHECK(kv.k_scale.empty() != is_kv_code(kv.k.dtype())) << "scales of codes, of nothing else";
    const RopeCall call = rope_call(rope, qk_norm, shape, batch, kv, q);
    each_row(batch.rows, 4 * width,
             [&](int r, int worker) { call.store(r, worker, qkv.row_f32(r)); });
  }

  void project_qkv(const PackedLinear& w, Tensor x, const RopeTable& rope, const QkNorm& qk_norm,
                   const AttentionShape& shape, const Batch& batch, const KvLayer& kv,
                   Tensor q) override {
    expect(x, {batch.rows, w.in_width()}, DType::kF32);
    expect(q, {batch.rows, shape.heads * shape.head_dim}, DType::kF32);
    if (batch.rows == 0) return;
    const RopeCall call = rope_call(rope, qk_norm, shape, batch, kv, q);
    const auto store = [&](const Gemm::Tile& tile, int worker) {
      // Head by head, because neighbouring rows share the cache lines of a head's keys.
      for (int col = 0; col < tile.cols; col += shape.head_dim)
        for (int r = 0; r < tile.rows; ++r)
          call.store_head(tile.first_row + r, worker, (tile.first_col + col) / shape.head_dim,
                          tile.y + std::int64_t{r} * tile.cols + col);
    };
    // Heads are coarse items: for one or two rows the weights are all that counts, and smaller
    // items share them out more evenly.
    constexpr int kFewestRows = 3;
    if (batch.rows >= kFewestRows &&
        gemm_.run_tiles(packed(w), x.f32(), batch.rows, shape.head_dim, 1, store))
      return;
    const Tensor qkv = between(0, batch.rows, w.out_width());
    linear(w, x, qkv);
    rope_store_kv(qkv, rope, qk_norm, shape, batch, kv, q);
  }

  const AttentionPlan& plan_attention(const AttentionShape& shape, const Batch& batch) override {
    return attention_.plan(shape, batch);
  }

  void attention(Tensor q, const KvLayer& kv, const AttentionPlan& plan, Tensor out) override {
    const AttentionShape& shape = plan.shape;
    expect(q, {plan.batch->rows, shape.heads * shape.head_dim}, DType::kF32);
    expect(out, {plan.batch->rows, shape.heads * shape.out_dim()}, DType::kF32);
    attention_.run(q, kv, plan, out, {});
  }

  void attend(Tensor q, const KvLayer& kv, const AttentionPlan& plan, const PackedLinear& o,
              Tensor out) override {
    const int rows = plan.batch->rows, dim = plan.shape.out_dim();
    expect(q, {rows, plan.shape.heads * plan.shape.head_dim}, DType::kF32);
    expect(out, {rows, o.out_width()}, DType::kF32);
    if (rows == 0) return;
    const Tensor attended = between(0, rows, std::int64_t{plan.shape.heads} * dim);
    const auto input = gemm_.open_input(packed(o), rows, dim);
    if (!input) {
      attention(q, kv, plan, attended);
      linear(o, attended, out);
      return;
    }
    attention_.run(q, kv, plan, attended,
                   [&](int row, std::int64_t col, int cols, const float* values) {
                     input->write(row, col, cols, values);
                   });
    gemm_.run(packed(o), *input, rows, out.f32());
  }

  void gated_act(Tensor gate_up, Activation act, Tensor out) override {
    const std::int64_t width = out.dim(1);
    expect(gate_up, {out.dim(0), 2 * width}, DType::kF32);
    each_row(out.dim(0), 4 * width, [&](int r, int) {
      const float* gate = gate_up.row_f32(r);
      table_.ops.gated_act[static_cast<std::size_t>(act)](gate, gate + width, width,
                                                          out.row_f32(r));
    });
  }

  void gated_mlp(const PackedLinear& gate_up, const PackedLinear& down, Activation act, Tensor x,
                 Tensor out) override {
    expect(x, {-1, gate_up.in_width()}, DType::kF32);
    expect(out, {x.dim(0), down.out_width()}, DType::kF32);
    const auto rows = static_cast<int>(x.dim(0));
    if (rows == 0) return;
    if (gemm_.run_gated({packed(gate_up), packed(down), act}, x.f32(), rows, out.f32())) return;
    const Tensor both = between(0, rows, gate_up.out_width());
    const Tensor gated = between(1, rows, down.in_width());
    linear(gate_up, x, both);
    gated_act(both, act, gated);
    linear(down, gated, out);
  }

  void route(Tensor logits, const Routing& routing, const RouterVectors& vectors, Tensor chosen,
             Tensor weights) override {
    expect(logits, {-1, routing.experts}, DType::kF32);
    expect(chosen, {logits.dim(0), routing.chosen}, DType::kI32);
    expect(weights, {logits.dim(0), routing.chosen}, DType::kF32);
    const auto score = table_.ops.router_scores[static_cast<std::size_t>(routing.score)];
    const ScratchScope scores_only(*this);
    const Tensor scores = temp(DType::kF32, logits.shape());
    each_row(logits.dim(0), 32 * logits.dim(1), [&](int r, int) {
      score(logits.row_f32(r), logits.dim(1), scores.row_f32(r));
      choose_row(routing, scores, vectors, r, chosen, weights);
    });
  }

  void mix_experts(std::span<const ExpertLinears> experts, Activation act, Tensor x, Tensor chosen,
                   Tensor weights, Tensor out) override {
    expect_mix(experts, x, chosen, weights, out);
    mixer_.run(experts, act, x, chosen, weights, out);
  }

  void gate_rows(Tensor x, Tensor gate) override {
    expect(x, {-1, -1}, DType::kF32);
    expect(gate, {x.dim(0), 1}, DType::kF32);
    const auto sigmoid = table_.ops.router_scores[static_cast<std::size_t>(RouterScore::kSigmoid)];
    each_row(x.dim(0), x.dim(1), [&](int r, int) {
      float factor = 0;
      sigmoid(gate.row_f32(r), 1, &factor);
      table_.ops.scale(x.row_f32(r), x.dim(1), factor);
    });
  }

  void top_tokens(Tensor logits, int k, TopTokens& out) override {
    expect(logits, {-1, -1}, DType::kF32);
    out.token.resize(at(logits.dim(0) * k));
    out.probability.resize(at(logits.dim(0) * k));
    each_row(logits.dim(0), 4 * logits.dim(1), [&](int r, int) {
      const std::size_t first = at(std::int64_t{r} * k);
      table_.ops.top_tokens(logits.row_f32(r), logits.dim(1), k, out.token.data() + first,
                            out.probability.data() + first);
    });
  }

 private:
  RopeCall rope_call(const RopeTable& rope, const QkNorm& qk_norm, const AttentionShape& shape,
                     const Batch& batch, const KvLayer& kv, Tensor q) {
    heads_.resize(RopeCall::temp_floats(shape) * at(pool_.size()));
    return {table_.ops.rope_store[kv_format(kv.k.dtype())],
            rope,
            qk_norm,
            shape,
            batch,
            kv,
            q,
            heads_.data()};
  }

  // Memory for what lies between two parts of one operation, float32.
  Tensor between(std::size_t part, std::int64_t rows, std::int64_t width) {
    const std::size_t bytes = at(rows * width) * sizeof(float);
    if (between_[part].bytes() < bytes) between_[part] = Buffer(bytes);
    return between_[part].view(DType::kF32, {rows, width});
  }

  // body(row, worker) for all rows; on this thread where that is done before workers wake up.
  // row_work: elements a row reads and computes with, roughly.
  template <typename Body>
  void each_row(std::int64_t rows, std::int64_t row_work, const Body& body) {
    constexpr std::int64_t kAlone = 1 << 15;
    if (rows * row_work > kAlone && rows > 1) {
      pool_.parallel_for(static_cast<int>(rows), std::cref(body));
      return;
    }
    const FlushDenormals flush;
    for (std::int64_t r = 0; r < rows; ++r) body(static_cast<int>(r), 0);
  }

  Isa isa_;
  GemmOrder order_;
  KernelTable table_;
  Gemm gemm_;
  CpuAttention attention_;
  ExpertMixer mixer_;
  const std::shared_ptr<Linears> linears_ = std::make_shared<Linears>();
  std::vector<Buffer> owned_;
  std::vector<KvLayer> kv_;  // all of it
  std::array<Buffer, 2> between_;
  std::vector<float> heads_;  // one head per worker, on its way to the KV store
};

}  // namespace

std::unique_ptr<Ops> make_cpu_backend(Isa isa, GemmOrder order, ThreadPool& pool) {
  return std::make_unique<CpuOps>(isa, order, pool);
}

}  // namespace foretoken
