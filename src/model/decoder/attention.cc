#include "model/decoder/attention.h"

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/index.h"
#include "batch/tree.h"

namespace foretoken {

namespace {

float score_scale(const ModelConfig& config, int layer) {
  if (config.score_scale != 0) return static_cast<float>(config.score_scale);
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.heads_of(layer).dim)));
}

// a | b
Tensor joined(StepOps& ops, Tensor a, Tensor b) {
  const Tensor both = ops.temp(DType::kF32, {a.dim(0), a.dim(1) + b.dim(1)});
  ops.join_columns(a, b, both);
  return both;
}

std::vector<MatrixPart> every_second(const std::vector<MatrixPart>& parts, std::size_t first) {
  std::vector<MatrixPart> taken;
  for (std::size_t i = first; i < parts.size(); i += 2) taken.push_back(parts[i]);
  return taken;
}

// What is normed as a whole is a stack of its own, and what is normed as values.
std::vector<std::vector<MatrixPart>> stacks_of(const WeightReader& read, const ModelConfig& config,
                                               std::vector<MatrixPart> parts, bool ends_alone) {
  if (config.whole_qk_norm) {
    std::vector<std::vector<MatrixPart>> stacks;
    for (const MatrixPart& part : parts) stacks.push_back({part});
    return stacks;
  }
  if (!ends_alone) return read.alike(parts);
  const MatrixPart last = parts.back();
  parts.pop_back();
  auto stacks = read.alike(parts);
  stacks.push_back({last});
  return stacks;
}

// Of queries and keys as one, of queries: scores know their product only. [heads, head_dim]
Tensor both_norms(WeightReader& read, const std::string& name, const AttentionShape& shape) {
  const std::int64_t dim = shape.head_dim;
  const FloatMatrix keys = read.floats(name + "k_norm", {dim});
  const auto change = [&](std::vector<float>& values) {
    for (std::int64_t i = 0; i < dim; ++i) values[at(i)] *= keys.at(0, i);
    for (int h = 1; h < shape.heads; ++h)
      for (std::int64_t i = 0; i < dim; ++i) values.push_back(values[at(i)]);
  };
  const Tensor both = read.changed(name + "q_norm.weight", {dim}, {shape.heads, dim}, change);
  read.release(name + "k_norm");
  return both;
}

}  // namespace

Attention::Attention(WeightReader& read, const ModelConfig& config, const std::string& prefix,
                     std::int64_t in_width, int layer)
    : shape_{.heads = config.heads,
             .kv_heads = config.heads_of(layer).count,
             .head_dim = config.heads_of(layer).dim,
             .scale = score_scale(config, layer),
             .window = config.window(layer),
             .chunk = config.chunk(layer),
             .score_cap = static_cast<float>(config.score_cap)},
      stored_(shape_),
      has_values_(config.has_values(layer)),
      rope_(config.rope_of(layer)),
      eps_(config.rms_eps) {
  const std::int64_t q = std::int64_t{config.heads} * shape_.head_dim;
  const std::int64_t kv = std::int64_t{shape_.kv_heads} * shape_.head_dim;
  const std::string name = prefix + "self_attn.";
  const bool is_own = config.kv_of(layer) == layer;
  if (!is_own) stored_.kv_heads = 0;
  std::vector<MatrixPart> parts{{name + "q_proj", q}, {name + "k_proj", kv}, {name + "v_proj", kv}};
  if (!has_values_) parts.pop_back();
  if (!is_own) {
    for (const char* part : {"k_proj", "v_proj", "k_norm"})
      read.skip_under(name + part + ".");  // some writers keep them
    parts.resize(1);
  } else if (config.v_norm) {
    v_norm_ = read.made(std::vector<float>(at(shape_.head_dim), 1.0F));
  }
  if (config.is_qkv_fused) parts = parts_of_fused(name + "qkv_proj", {q, kv, kv});
  if (config.has_output_gate) {
    const std::vector<std::int64_t> turns(2 * at(config.heads), shape_.head_dim);
    const auto both = parts_of_fused(name + "q_proj", turns);
    const auto queries = every_second(both, 0);
    parts.erase(parts.begin());
    parts.insert(parts.begin(), queries.begin(), queries.end());
    gate_ = read.linear(every_second(both, 1), in_width, bias_if(config.qkv_bias));
  }
  const bool ends_alone = is_own && (config.v_norm || !has_values_);
  for (const auto& stack : stacks_of(read, config, parts, ends_alone))
    qkv_.push_back(read.linear(stack, in_width, bias_if(config.qkv_bias)));
  if (config.whole_qk_norm)
    whole_norms_ = {read.vector(name + "q_norm.weight", q, config.norm_offset),
                    read.vector(name + "k_norm.weight", kv, config.norm_offset)};
  const auto head_norm = [&](const char* norm) {
    return read.vector(name + norm, shape_.head_dim, config.norm_offset);
  };
  if (config.qk_norm) {
    qk_norm_ = {.q_weight = head_norm("q_norm.weight"), .k_weight = {}, .eps = config.rms_eps};
    qk_norm_.k_weight = is_own ? head_norm("k_norm.weight") : qk_norm_.q_weight;  // both or none
  }
  if (config.norms_rotated && rope_ != LayerRope::kNone) {
    const Tensor ones = read.made(std::vector<float>(at(shape_.head_dim), 1.0F));
    qk_norm_ = {.q_weight = ones, .k_weight = ones, .eps = config.rms_eps};
  }
  if (config.qk_norm_behind) {
    const Tensor ones = read.made(std::vector<float>(at(shape_.head_dim), 1.0F));
    qk_norm_ = {.q_weight = {}, .k_weight = ones, .eps = config.rms_eps};
    norm_behind_ = both_norms(read, name, shape_);
  }
  o_ = read.linear({{name + "o_proj", config.hidden}}, q, bias_if(config.o_bias));
  if (config.has_sinks) sinks_ = read.vector(name + "sinks", config.heads);
  if (config.score_growth == 0) return;
  if (config.grows_unrotated && rope_ != LayerRope::kNone) return;
  growth_length_ = config.score_growth_length;
  growth_offset_ = config.score_growth_offset;
  const std::int64_t last =
      (config.context_length + kMaxTreeNodes + growth_offset_) / growth_length_;
  for (std::int64_t i = 0; i <= last; ++i)
    growth_.push_back(
        static_cast<float>(1.0 + config.score_growth * std::log(1.0 + static_cast<double>(i))));
}

void Attention::project(Tensor in, const RopeTables& ropes, const KvLayer& kv,
                        LayerScratch& s) const {
  if (gate_) s.ops.linear(*gate_, in, s.gate);
  if (qkv_.size() == 1 && stored_.kv_heads > 0) {
    s.ops.project_qkv(*qkv_[0], in, ropes.of(rope_), qk_norm_, shape_, s.batch, kv, queries(s));
    return finish_queries(s);
  }
  const ScratchScope between(s.ops);
  s.ops.rope_store_kv(stacks(in, s), ropes.of(rope_), qk_norm_, stored_, s.batch, kv, queries(s));
  finish_queries(s);
}

void Attention::finish_queries(LayerScratch& s) const {
  if (!norm_behind_.empty()) s.ops.norm_groups(queries(s), norm_behind_, eps_);
  grow(s);
}

// q | k | v, or q alone.
Tensor Attention::stacks(Tensor in, LayerScratch& s) const {
  Tensor qkv;
  for (std::size_t i = 0; i < qkv_.size(); ++i) {
    const Tensor part = s.ops.temp(DType::kF32, {in.dim(0), qkv_[i]->out_width()});
    s.ops.linear(*qkv_[i], in, part);
    if (i < whole_norms_.size()) s.ops.norm(part, whole_norms_[i], eps_, part);
    if (i + 1 == qkv_.size() && stored_.kv_heads > 0) return with_values(qkv, part, s);
    qkv = qkv.empty() ? part : joined(s.ops, qkv, part);
  }
  return qkv;
}

// `last`: the values, or the keys that values are made of, too.
Tensor Attention::with_values(Tensor before, Tensor last, LayerScratch& s) const {
  const auto heads = [&](Tensor x) {
    return Tensor(x.data(), DType::kF32,
                  {x.dim(0) * shape_.kv_heads, std::int64_t{shape_.head_dim}});
  };
  Tensor values = last;
  if (!has_values_) {
    before = joined(s.ops, before, last);
    if (!v_norm_.empty()) values = s.ops.temp(DType::kF32, last.shape());
  }
  if (!v_norm_.empty()) s.ops.norm(heads(last), v_norm_, eps_, heads(values));
  return joined(s.ops, before, values);
}

// Of q, rows of one factor at a time.
void Attention::grow(LayerScratch& s) const {
  if (growth_length_ == 0) return;
  const auto step = [&](std::int64_t row) {
    return (s.batch.position[at(row)] + growth_offset_) / growth_length_;
  };
  for (std::int64_t first = 0, end = 0; first < queries(s).dim(0); first = end) {
    while (end < queries(s).dim(0) && step(end) == step(first)) ++end;
    const std::int64_t reached = step(first);
    if (reached > 0)
      s.ops.scale(queries(s).rows(first, end - first), growth_[static_cast<std::size_t>(reached)]);
  }
}

void Attention::attend(const KvLayer& kv, LayerScratch& s) const {
  KvLayer seen = kv;
  seen.sinks = sinks_;
  if (!gate_) return s.ops.attend(queries(s), seen, s.plan(shape_), *o_, s.delta);
  const ScratchScope between(s.ops);
  const Tensor attended = s.ops.temp(DType::kF32, s.gate.shape());
  s.ops.attention(queries(s), seen, s.plan(shape_), attended);
  s.ops.gate(attended, s.gate, GateCurve::kSigmoid);
  s.ops.linear(*o_, attended, s.delta);
}

}  // namespace foretoken
