#include "model/decoder/attention.h"

#include <cmath>

namespace foretoken {

Attention::Attention(WeightReader& read, const ModelConfig& config, const std::string& prefix,
                     std::int64_t in_width, int window)
    : shape_{.heads = config.heads,
             .kv_heads = config.kv_heads,
             .head_dim = config.head_dim,
             .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.head_dim))),
             .window = window} {
  const std::int64_t q_width = std::int64_t{config.heads} * config.head_dim;
  const std::int64_t kv_width = std::int64_t{config.kv_heads} * config.head_dim;
  const std::string name = prefix + "self_attn.";
  qkv_ = read.linear(
      {{name + "q_proj", q_width}, {name + "k_proj", kv_width}, {name + "v_proj", kv_width}},
      in_width, bias_if(config.qkv_bias));
  if (config.qk_norm)
    qk_norm_ = {.q_weight = read.vector(name + "q_norm.weight", config.head_dim),
                .k_weight = read.vector(name + "k_norm.weight", config.head_dim),
                .eps = config.rms_eps};
  o_ = read.linear({{name + "o_proj", config.hidden}}, q_width, bias_if(config.o_bias));
}

void Attention::project(Tensor in, const RopeTable& rope, const KvLayer& kv,
                        LayerScratch& s) const {
  s.ops.project_qkv(*qkv_, in, rope, qk_norm_, shape_, s.batch, kv, s.q);
}

void Attention::attend(const KvLayer& kv, LayerScratch& s) const {
  s.ops.attend(s.q, kv, s.plan(shape_), *o_, s.delta);
}

}  // namespace foretoken
