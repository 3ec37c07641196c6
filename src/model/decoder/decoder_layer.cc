#include "model/decoder/decoder_layer.h"

#include <cmath>

namespace foretoken {
namespace {

Bias bias_if(bool is_present) { return is_present ? Bias::kRequired : Bias::kNone; }

}  // namespace

LayerScratch::LayerScratch(StepOps& backend, const ModelConfig& config, const Batch& rows)
    : ops(backend), batch(rows) {
  const std::int64_t q_width = std::int64_t{config.heads} * config.head_dim;
  auto temp = [&](std::int64_t width) { return ops.temp(DType::kF32, {batch.rows, width}); };
  residual = temp(config.hidden);
  normed = temp(config.hidden);
  delta = temp(config.hidden);
  q = temp(q_width);
}

const AttentionPlan& LayerScratch::plan(const AttentionShape& shape) {
  for (const AttentionPlan* made : plans)
    if (made->shape == shape) return *made;
  plans.push_back(&ops.plan_attention(shape, batch));
  return *plans.back();
}

DecoderLayer::DecoderLayer(WeightReader& read, const ModelConfig& config, const std::string& prefix,
                           std::int64_t in_width, int window)
    : attention_{.heads = config.heads,
                 .kv_heads = config.kv_heads,
                 .head_dim = config.head_dim,
                 .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.head_dim))),
                 .window = window},
      eps_(config.rms_eps) {
  const std::int64_t hidden = config.hidden;
  const std::int64_t q_width = std::int64_t{config.heads} * config.head_dim;
  const std::int64_t kv_width = std::int64_t{config.kv_heads} * config.head_dim;
  const std::string attention = prefix + "self_attn.", mlp = prefix + "mlp.";
  qkv_ = read.linear({{attention + "q_proj", q_width},
                      {attention + "k_proj", kv_width},
                      {attention + "v_proj", kv_width}},
                     in_width, bias_if(config.qkv_bias));
  if (config.qk_norm)
    qk_norm_ = {.q_weight = read.vector(attention + "q_norm.weight", config.head_dim),
                .k_weight = read.vector(attention + "k_norm.weight", config.head_dim),
                .eps = config.rms_eps};
  o_ = read.linear({{attention + "o_proj", hidden}}, q_width, bias_if(config.o_bias));
  post_attention_norm_ = read.vector(prefix + "post_attention_layernorm.weight", hidden);
  gate_up_ = read.linear(
      {{mlp + "gate_proj", config.intermediate}, {mlp + "up_proj", config.intermediate}}, hidden,
      bias_if(config.mlp_bias));
  down_ = read.linear({{mlp + "down_proj", hidden}}, config.intermediate, bias_if(config.mlp_bias));
}

void DecoderLayer::forward(Tensor in, const RopeTable& rope, const KvLayer& kv,
                           LayerScratch& s) const {
  s.ops.project_qkv(*qkv_, in, rope, qk_norm_, attention_, s.batch, kv, s.q);
  finish(kv, s);
}

void DecoderLayer::forward_tail(Tensor in, const RopeTable& rope, const KvLayer& kv,
                                LayerScratch& s, const BatchTail& tail, LayerScratch& end) const {
  s.ops.project_qkv(*qkv_, in, rope, qk_norm_, attention_, s.batch, kv, s.q);
  if (tail.rows.empty()) return;
  s.ops.gather_rows(s.q, tail.rows, end.q);
  s.ops.gather_rows(s.residual, tail.rows, end.residual);
  finish(kv, end);
}

void DecoderLayer::finish(const KvLayer& kv, LayerScratch& s) const {
  StepOps& ops = s.ops;
  ops.attend(s.q, kv, s.plan(attention_), *o_, s.delta);
  ops.add_norm(s.residual, s.delta, post_attention_norm_, eps_, s.normed);
  ops.gated_mlp(*gate_up_, *down_, s.normed, s.delta);
}

}  // namespace foretoken
