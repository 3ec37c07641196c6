#include "backend/reference/reference_ops.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <numbers>
#include <vector>

#include "backend/float_view.h"
#include "backend/host/expert_rows.h"
#include "backend/host/host_ops.h"
#include "backend/reference/reference_attention.h"
#include "backend/reference/reference_linear.h"
#include "base/index.h"
#include "tensor/buffer.h"

namespace foretoken {
namespace {

void normed_row(const float* x, const float* weight, std::int64_t width, float eps, float* out) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < width; ++i) sum += static_cast<double>(x[i]) * x[i];
  const double scale = 1.0 / std::sqrt(sum / static_cast<double>(width) + eps);
  for (std::int64_t i = 0; i < width; ++i) out[i] = static_cast<float>(x[i] * scale * weight[i]);
}

// Pairs element i with element i + rotary_dim / 2.
void rotate_row(float* head, const RopeTable& rope, std::int32_t position) {
  if (rope.pairs() == 0) return;
  const int half = rope.rotary_dim / 2;
  const float* cos = rope.cos.row_f32(position);
  const float* sin = rope.sin.row_f32(position);
  for (int i = 0; i < rope.pairs(); ++i) {
    const float a = head[i], b = head[i + half];
    head[i] = a * cos[i] - b * sin[i];
    head[i + half] = b * cos[i] + a * sin[i];
  }
}

double activated(Activation act, double x) {
  switch (act) {
    case Activation::kSilu:
      return x / (1.0 + std::exp(-x));
    case Activation::kGeluTanh:
      return 0.5 * x *
             (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::kGelu:
      return 0.5 * x * (1.0 + std::erf(x / std::numbers::sqrt2));
    case Activation::kClampedSwiglu:
      break;  // looks at both factors
  }
  return 0.0;
}

double gated_value(Activation act, double gate, double up) {
  if (act != Activation::kClampedSwiglu) return activated(act, gate) * up;
  constexpr double kLimit = 7, kSteepness = 1.702;
  const double g = std::min(gate, kLimit);
  return g / (1.0 + std::exp(-kSteepness * g)) * (std::clamp(up, -kLimit, kLimit) + 1);
}

void router_scores(RouterScore score, const float* logits, std::int64_t width, float* out) {
  if (score == RouterScore::kLogit) {
    std::copy_n(logits, width, out);
    return;
  }
  const double most = *std::max_element(logits, logits + width);
  double sum = 0;
  for (std::int64_t i = 0; i < width; ++i) sum += std::exp(logits[i] - most);
  for (std::int64_t i = 0; i < width; ++i)
    out[i] = static_cast<float>(score == RouterScore::kSoftmax
                                    ? std::exp(logits[i] - most) / sum
                                    : 1.0 / (1.0 + std::exp(-static_cast<double>(logits[i]))));
}

class ReferenceOps final : public HostOps {
 public:
  explicit ReferenceOps(ThreadPool& pool) : HostOps(pool) {}

  std::string description() const override {
    return "reference, " + std::to_string(pool_.size()) + " threads";
  }

  std::unique_ptr<PackedLinear> pack(const LinearParts& parts) override {
    return std::make_unique<ReferenceLinear>(parts);
  }

  Tensor alloc(DType dtype, Shape shape) override {
    owned_.emplace_back(at(shape.elements()) * dtype_bytes(dtype));
    return owned_.back().view(dtype, shape);
  }

  // What lies between the parts of joined operations is scratch here, of each layer anew.
  std::size_t workspace_bytes(const ForwardSize& size) const override {
    const AttentionShape& a = size.attention;
    const std::int64_t width = (2 * a.heads + 2 * a.kv_heads) * a.head_dim + 3 * size.intermediate;
    return at(size.layers * (size.rows * width * 4 + 256));
  }
  std::size_t most_step_bytes() const override { return scratch_.most_bytes(); }

  void layout(const StepPlan& plan, const DraftTrees& trees, const SeqTable& table,
              Batch& batch) override {
    scratch_.reset();
    plans_.clear();
    layout_rows(plan, trees, table, batch);
  }

  void embed(const PackedLinear& table, std::span<const Token> tokens, Tensor out) override {
    expect(out, {static_cast<std::int64_t>(tokens.size()), table.in_width()}, DType::kF32);
    for (std::size_t r = 0; r < tokens.size(); ++r)
      std::copy_n(reference(table).row(tokens[r]), table.in_width(),
                  out.row_f32(static_cast<std::int64_t>(r)));
  }

  std::vector<KvLayer> alloc_kv(const KvShape& shape, int num_pages) override {
    return alloc_host_kv([this](DType dtype, Shape of) { return alloc(dtype, of); }, shape,
                         num_pages);
  }
  Tensor keep_rows(Tensor matrix, DType dtype) override {
    const Tensor rows = alloc(dtype, matrix.shape());
    for (std::int64_t i = 0; i < rows.elements(); ++i)
      store_float(rows.data(), dtype, i, load_float(matrix.data(), matrix.dtype(), i));
    return rows;
  }

  void look_up(Tensor table, std::span<const Token> tokens, Tensor out) override {
    const std::int64_t width = table.dim(1);
    expect(out, {static_cast<std::int64_t>(tokens.size()), width}, DType::kF32);
    for (std::size_t r = 0; r < tokens.size(); ++r)
      for (std::int64_t i = 0; i < width; ++i)
        out.row_f32(static_cast<std::int64_t>(r))[i] =
            load_float(table.data(), table.dtype(), tokens[r] * width + i);
  }

  void norm(Tensor x, Tensor weight, float eps, Tensor out) override {
    expect(x, {-1, weight.dim(0)}, DType::kF32);
    expect(out, {x.dim(0), x.dim(1)}, DType::kF32);
    each_row(x, [&](std::int64_t r) {
      normed_row(x.row_f32(r), weight.f32(), x.dim(1), eps, out.row_f32(r));
    });
  }

  void centre(Tensor x, Tensor out) override {
    expect(out, {x.dim(0), x.dim(1)}, DType::kF32);
    each_row(x, [&](std::int64_t r) {
      const float* const row = x.row_f32(r);
      double sum = 0;
      for (std::int64_t i = 0; i < x.dim(1); ++i) sum += row[i];
      const double mean = sum / static_cast<double>(x.dim(1));
      for (std::int64_t i = 0; i < x.dim(1); ++i)
        out.row_f32(r)[i] = static_cast<float>(row[i] - mean);
    });
  }

  void norm_groups(Tensor x, Tensor weight, float eps) override {
    const std::int64_t groups = weight.dim(0), width = weight.dim(1);
    expect(x, {-1, groups * width}, DType::kF32);
    each_row(x, [&](std::int64_t r) {
      for (std::int64_t g = 0; g < groups; ++g) {
        float* group = x.row_f32(r) + g * width;
        normed_row(group, weight.row_f32(g), width, eps, group);
      }
    });
  }

  void add_norm(Tensor residual, Tensor delta, Tensor weight, float eps, Tensor out) override {
    add(residual, delta);
    norm(residual, weight, eps, out);
  }

  void add(Tensor residual, Tensor delta) override {
    expect(delta, {residual.dim(0), residual.dim(1)}, DType::kF32);
    for (std::int64_t i = 0; i < residual.elements(); ++i) residual.f32()[i] += delta.f32()[i];
  }

  void scale(Tensor x, float factor) override {
    for (std::int64_t i = 0; i < x.elements(); ++i) x.f32()[i] *= factor;
  }

  void soft_cap(Tensor x, float cap) override {
    for (std::int64_t i = 0; i < x.elements(); ++i)
      x.f32()[i] = static_cast<float>(soft_capped(x.f32()[i], cap));
  }

  void linear(const PackedLinear& w, Tensor x, Tensor y) override {
    expect(x, {-1, w.in_width()}, DType::kF32);
    expect(y, {x.dim(0), w.out_width()}, DType::kF32);
    const ReferenceLinear& packed = reference(w);
    std::vector<float> input(x.f32(), x.f32() + x.elements());
    for (std::int64_t r = 0; r < x.dim(0); ++r) packed.round(input.data() + r * w.in_width());
    pool_.parallel_for(static_cast<int>(w.out_width()), [&](int n, int) {
      for (std::int64_t r = 0; r < x.dim(0); ++r) {
        const float* in = input.data() + r * w.in_width();
        double sum = 0.0;
        for (std::int64_t k = 0; k < w.in_width(); ++k)
          sum += static_cast<double>(packed.row(n)[k]) * in[k];
        y.row_f32(r)[n] = static_cast<float>(sum + packed.bias(n));
      }
    });
  }

  void linear_heads(HeadLinears w, Tensor x, Tensor y) override {
    const auto heads = static_cast<std::int64_t>(w.size());
    const std::int64_t x_step = x.dim(1) / heads, y_step = y.dim(1) / heads;
    each_row(x, [&](std::int64_t r) {
      for (std::int64_t h = 0; h < heads; ++h) {
        const ReferenceLinear& head = reference(*w[at(h)]);
        const float* const from = x.row_f32(r) + h * x_step;
        std::vector<float> in(from, from + head.in_width());
        head.round(in.data());
        for (std::int64_t n = 0; n < head.out_width(); ++n) {
          double sum = 0.0;
          for (std::int64_t k = 0; k < head.in_width(); ++k)
            sum += static_cast<double>(head.row(n)[k]) * in[at(k)];
          y.row_f32(r)[h * y_step + n] = static_cast<float>(sum);
        }
      }
    });
  }

  void store_latent(const LatentRows& latent, const RopeTable& rope, const AttentionShape& shape,
                    const Batch& batch, const KvLayer& kv, Tensor q) override {
    const std::int64_t dim = shape.head_dim, value = shape.value_dim, turned = rope.rotary_dim;
    CHECK(value > 0 && dim == value + turned && shape.kv_heads == 1);
    const std::int64_t step = latent.q.dim(1) / shape.heads;
    expect(latent.kv, {batch.rows, dim}, DType::kF32);
    expect(q, {batch.rows, shape.heads * dim}, DType::kF32);
    each_row(q, [&](std::int64_t r) {
      const auto turn = [&](const float* from, float* to) {
        for (std::int64_t i = 0; i < turned; ++i)
          to[i] = from[!latent.pairs_neighbours ? i
                       : i < turned / 2         ? 2 * i
                                                : 2 * (i - turned / 2) + 1];
        rotate_row(to, rope, batch.position[at(r)]);
      };
      for (std::int64_t h = 0; h < shape.heads; ++h)
        turn(latent.q.row_f32(r) + (h + 1) * step - turned, q.row_f32(r) + h * dim + value);
      if (batch.kv_slot[at(r)] < 0) return;
      std::vector<float> key(at(dim));
      normed_row(latent.kv.row_f32(r), latent.norm.f32(), value, latent.eps, key.data());
      turn(latent.kv.row_f32(r) + value, key.data() + value);
      store_reference_head(kv, batch.kv_slot[at(r)], 0, key.data(), nullptr);
    });
  }

  void rope_store_kv(Tensor qkv, const RopeTable& rope, const QkNorm& qk_norm,
                     const AttentionShape& shape, const Batch& batch, const KvLayer& kv,
                     Tensor q) override {
    const std::int64_t dim = shape.head_dim;
    expect(qkv, {batch.rows, (shape.heads + 2 * shape.kv_heads) * dim}, DType::kF32);
    expect(q, {batch.rows, shape.heads * dim}, DType::kF32);
    each_row(q, [&](std::int64_t r) {
      std::vector<float> head(at(dim));
      const auto turn = [&](const float* from, const Tensor& weight) {
        head.assign(from, from + dim);
        if (!weight.empty()) normed_row(from, weight.f32(), dim, qk_norm.eps, head.data());
        rotate_row(head.data(), rope, batch.position[at(r)]);
      };
      const float* row = qkv.row_f32(r);
      for (std::int64_t h = 0; h < shape.heads; ++h) {
        turn(row + h * dim, qk_norm.q_weight);
        std::copy(head.begin(), head.end(), q.row_f32(r) + h * dim);
      }
      if (batch.kv_slot[at(r)] < 0) return;
      for (std::int64_t h = 0; h < shape.kv_heads; ++h) {
        turn(row + (shape.heads + h) * dim, qk_norm.k_weight);
        const float* v = row + (shape.heads + shape.kv_heads + h) * dim;
        store_reference_head(kv, batch.kv_slot[at(r)], h, head.data(), v);
      }
    });
  }

  const AttentionPlan& plan_attention(const AttentionShape& shape, const Batch& batch) override {
    AttentionPlan& plan = plans_.emplace_back();
    plan.shape = shape;
    plan.batch = &batch;
    return plan;
  }

  void attention(Tensor q, const KvLayer& kv, const AttentionPlan& plan, Tensor out) override {
    const AttentionShape& shape = plan.shape;
    const Batch& batch = *plan.batch;
    expect(q, {batch.rows, shape.heads * shape.head_dim}, DType::kF32);
    expect(out, {batch.rows, shape.heads * shape.out_dim()}, DType::kF32);
    each_row(q, [&](std::int64_t r) {
      std::vector<std::int32_t> slots;
      visible_slots(batch, static_cast<int>(r), slots);
      const std::int32_t place = place_in_text(batch, static_cast<int>(r));
      const int seen = place - shape.first_seen(place) + 1;
      if (slots.size() > at(seen)) slots.erase(slots.begin(), slots.end() - seen);
      for (int h = 0; h < shape.heads; ++h)
        attend_reference_head(q.row_f32(r) + h * shape.head_dim, kv, shape, h, slots,
                              out.row_f32(r) + h * shape.out_dim());
    });
  }

  void gated_act(Tensor gate_up, Activation act, Tensor out) override {
    const std::int64_t width = out.dim(1);
    expect(gate_up, {out.dim(0), 2 * width}, DType::kF32);
    each_row(out, [&](std::int64_t r) {
      const float* gate = gate_up.row_f32(r);
      for (std::int64_t i = 0; i < width; ++i)
        out.row_f32(r)[i] = static_cast<float>(gated_value(act, gate[i], gate[width + i]));
    });
  }

  void route(Tensor logits, const Routing& routing, const RouterVectors& vectors, Tensor chosen,
             Tensor weights) override {
    expect(logits, {-1, routing.experts}, DType::kF32);
    const Tensor scores = temp(DType::kF32, logits.shape());
    each_row(logits, [&](std::int64_t r) {
      router_scores(routing.score, logits.row_f32(r), logits.dim(1), scores.row_f32(r));
      choose_row(routing, scores, vectors, r, chosen, weights);
    });
  }

  void mix_experts(std::span<const ExpertLinears> experts, Activation act, Tensor x, Tensor chosen,
                   Tensor weights, Tensor out) override {
    expect_mix(experts, x, chosen, weights, out);
    const ScratchScope parts_only(*this);
    const Tensor part = temp(DType::kF32, {1, x.dim(1)});
    for (std::int64_t r = 0; r < x.dim(0); ++r) {
      std::vector<double> sum(at(x.dim(1)));
      for (std::int64_t j = 0; j < chosen.dim(1); ++j) {
        const ExpertLinears& expert = experts[at(chosen_expert(chosen, r, j))];
        gated_mlp(*expert.gate_up, *expert.down, act, x.rows(r, 1), part);
        for (std::size_t i = 0; i < sum.size(); ++i)
          sum[i] += static_cast<double>(weights.row_f32(r)[j]) * part.f32()[i];
      }
      for (std::size_t i = 0; i < sum.size(); ++i) out.row_f32(r)[i] = static_cast<float>(sum[i]);
    }
  }

  void gate_rows(Tensor x, Tensor gate) override {
    expect(gate, {x.dim(0), 1}, DType::kF32);
    each_row(x, [&](std::int64_t r) {
      const double factor = 1.0 / (1.0 + std::exp(-static_cast<double>(gate.row_f32(r)[0])));
      for (std::int64_t i = 0; i < x.dim(1); ++i)
        x.row_f32(r)[i] = static_cast<float>(x.row_f32(r)[i] * factor);
    });
  }

  void top_tokens(Tensor logits, int k, TopTokens& out) override {
    expect(logits, {-1, -1}, DType::kF32);
    out.token.assign(at(logits.dim(0) * k), kNoToken);
    out.probability.assign(at(logits.dim(0) * k), 0.0F);
    for (std::int64_t r = 0; r < logits.dim(0); ++r) {
      const float* row = logits.row_f32(r);
      std::vector<Token> order;
      for (Token t = 0; t < logits.dim(1); ++t)
        if (row[t] > -INFINITY) order.push_back(t);
      std::stable_sort(order.begin(), order.end(),
                       [&](Token a, Token b) { return row[a] > row[b]; });
      if (order.empty()) continue;
      double sum = 0;
      for (std::int64_t t = 0; t < logits.dim(1); ++t)
        sum += std::exp(static_cast<double>(row[t]) - static_cast<double>(row[order.front()]));
      for (std::size_t i = 0; i < std::min(at(k), order.size()); ++i) {
        const double gap =
            static_cast<double>(row[order[i]]) - static_cast<double>(row[order.front()]);
        out.token[at(r * k) + i] = order[i];
        out.probability[at(r * k) + i] = k == 1 ? 1.0F : static_cast<float>(std::exp(gap) / sum);
      }
    }
  }

 private:
  template <typename Body>
  void each_row(const Tensor& x, Body body) {
    pool_.parallel_for(static_cast<int>(x.dim(0)), [&](int r, int) { body(r); });
  }

  std::vector<Buffer> owned_;
  std::deque<AttentionPlan> plans_;  // of this step
};

}  // namespace

std::unique_ptr<Ops> make_reference_backend(ThreadPool& pool) {
  return std::make_unique<ReferenceOps>(pool);
}

}  // namespace foretoken
