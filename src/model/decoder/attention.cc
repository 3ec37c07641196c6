#include "model/decoder/attention.h"

#include <cmath>
#include <vector>

namespace foretoken {

namespace {

float score_scale(const ModelConfig& config) {
  if (config.score_scale != 0) return static_cast<float>(config.score_scale);
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.head_dim)));
}

// a | b
Tensor joined(StepOps& ops, Tensor a, Tensor b) {
  const Tensor both = ops.temp(DType::kF32, {a.dim(0), a.dim(1) + b.dim(1)});
  ops.join_columns(a, b, both);
  return both;
}

}  // namespace

Attention::Attention(WeightReader& read, const ModelConfig& config, const std::string& prefix,
                     std::int64_t in_width, int layer)
    : shape_{.heads = config.heads,
             .kv_heads = config.kv_heads,
             .head_dim = config.head_dim,
             .scale = score_scale(config),
             .window = config.window(layer),
             .score_cap = static_cast<float>(config.score_cap)},
      rope_(config.rope_of(layer)) {
  const std::int64_t q = std::int64_t{config.heads} * config.head_dim;
  const std::int64_t kv = std::int64_t{config.kv_heads} * config.head_dim;
  const std::string name = prefix + "self_attn.";
  std::vector<MatrixPart> parts{{name + "q_proj", q}, {name + "k_proj", kv}, {name + "v_proj", kv}};
  if (config.is_qkv_fused) parts = parts_of_fused(name + "qkv_proj", {q, kv, kv});
  for (const auto& stack : read.alike(parts))
    qkv_.push_back(read.linear(stack, in_width, bias_if(config.qkv_bias)));
  const auto head_norm = [&](const char* norm) {
    return read.vector(name + norm, config.head_dim, config.norm_offset);
  };
  if (config.qk_norm)
    qk_norm_ = {.q_weight = head_norm("q_norm.weight"),
                .k_weight = head_norm("k_norm.weight"),
                .eps = config.rms_eps};
  o_ = read.linear({{name + "o_proj", config.hidden}}, q, bias_if(config.o_bias));
  if (config.has_sinks) sinks_ = read.vector(name + "sinks", config.heads);
}

void Attention::project(Tensor in, const RopeTables& ropes, const KvLayer& kv,
                        LayerScratch& s) const {
  if (qkv_.size() == 1)
    return s.ops.project_qkv(*qkv_[0], in, ropes.of(rope_), qk_norm_, shape_, s.batch, kv, s.q);
  const ScratchScope between(s.ops);
  Tensor qkv;
  for (const auto& stack : qkv_) {
    const Tensor part = s.ops.temp(DType::kF32, {in.dim(0), stack->out_width()});
    s.ops.linear(*stack, in, part);
    qkv = qkv.empty() ? part : joined(s.ops, qkv, part);
  }
  s.ops.rope_store_kv(qkv, ropes.of(rope_), qk_norm_, shape_, s.batch, kv, s.q);
}

void Attention::attend(const KvLayer& kv, LayerScratch& s) const {
  KvLayer seen = kv;
  seen.sinks = sinks_;
  s.ops.attend(s.q, seen, s.plan(shape_), *o_, s.delta);
}

}  // namespace foretoken
