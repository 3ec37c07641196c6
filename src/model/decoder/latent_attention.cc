#include "model/decoder/latent_attention.h"

#include <cmath>

#include "base/index.h"

namespace foretoken {
namespace {

float score_scale(const ModelConfig& config) {
  const double magnitude = latent_magnitude(config);
  const double dim = config.latent.query_dim();
  return static_cast<float>(magnitude * magnitude / std::sqrt(dim));
}

}  // namespace

LatentAttention::LatentAttention(WeightReader& read, const ModelConfig& config,
                                 const std::string& prefix, std::int64_t in_width)
    : blocks_(config.latent),
      shape_{.heads = config.heads,
             .kv_heads = 1,
             .head_dim = config.head_dim,
             .value_dim = blocks_.kv_rank,
             .scale = score_scale(config)} {
  const std::string name = prefix + "self_attn.";
  const std::int64_t heads = config.heads, queries = heads * blocks_.query_dim();
  const Bias bias = bias_if(config.qkv_bias);
  if (blocks_.q_rank > 0) {
    q_a_ = read.linear({{name + "q_a_proj", blocks_.q_rank}}, in_width, bias);
    q_norm_ = read.vector(name + "q_a_layernorm.weight", blocks_.q_rank);
    q_ = read.linear({{name + "q_b_proj", queries}}, blocks_.q_rank, Bias::kNone);
  } else {
    q_ = read.linear({{name + "q_proj", queries}}, in_width, Bias::kNone);
  }
  kv_a_ = read.linear({{name + "kv_a_proj_with_mqa", config.head_dim}}, in_width, bias);
  kv_norm_ = read.vector(name + "kv_a_layernorm.weight", blocks_.kv_rank);
  read_heads(read, name);
  o_ = read.linear({{name + "o_proj", config.hidden}}, heads * blocks_.value_dim,
                   bias_if(config.o_bias));
}

// Of each head key_dim rows that make its key, then value_dim rows that make its value; or both
// apart, keys turned already.
void LatentAttention::read_heads(WeightReader& read, const std::string& name) {
  if (read.has_matrix(name + "k_b_proj")) return read_turned_heads(read, name);
  const std::int64_t heads = shape_.heads, rank = blocks_.kv_rank, keys = blocks_.key_dim;
  const std::int64_t rows = keys + blocks_.value_dim;
  const FloatMatrix both = read.floats(name + "kv_b_proj", {heads * rows, rank});
  std::vector<float> turned(at(rank * keys));
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t k = 0; k < keys; ++k)
      for (std::int64_t i = 0; i < rank; ++i) turned[at(i * keys + k)] = both.at(h * rows + k, i);
    keys_.push_back(read.pack({turned.data(), DType::kF32, {rank, keys}}));
    values_.push_back(read.pack(both.rows(h * rows + keys, blocks_.value_dim)));
  }
  read.release(name + "kv_b_proj");
}

void LatentAttention::read_turned_heads(WeightReader& read, const std::string& name) {
  const std::int64_t heads = shape_.heads, rank = blocks_.kv_rank, rows = blocks_.value_dim;
  const FloatMatrix keys = read.floats(name + "k_b_proj", {heads, rank, blocks_.key_dim});
  const FloatMatrix values = read.floats(name + "v_b_proj", {heads, rows, rank});
  for (std::int64_t h = 0; h < heads; ++h) {
    keys_.push_back(read.pack(keys.rows(h * rank, rank)));
    values_.push_back(read.pack(values.rows(h * rows, rows)));
  }
  for (const char* matrix : {"k_b_proj", "v_b_proj"}) read.release(name + matrix);
}

Tensor LatentAttention::queries(Tensor in, LayerScratch& s) const {
  const auto temp = [&](const PackedLinear& w) {
    return s.ops.temp(DType::kF32, {in.dim(0), w.out_width()});
  };
  const Tensor q = temp(*q_);
  if (!q_a_) {
    s.ops.linear(*q_, in, q);
    return q;
  }
  const Tensor latent = temp(*q_a_);
  s.ops.linear(*q_a_, in, latent);
  s.ops.norm(latent, q_norm_, blocks_.norm_eps, latent);
  s.ops.linear(*q_, latent, q);
  return q;
}

void LatentAttention::project(Tensor in, const RopeTables& ropes, const KvLayer& kv,
                              LayerScratch& s) const {
  const ScratchScope between(s.ops);
  const Tensor q = queries(in, s);
  const Tensor latent = s.ops.temp(DType::kF32, {in.dim(0), kv_a_->out_width()});
  s.ops.linear(*kv_a_, in, latent);
  s.ops.linear_heads(keys_, q, s.queries(query_width()));
  s.ops.store_latent({.kv = latent,
                      .q = q,
                      .norm = kv_norm_,
                      .eps = blocks_.norm_eps,
                      .pairs_neighbours = blocks_.pairs_neighbours},
                     ropes.of(LayerRope::kMain), shape_, s.batch, kv, s.queries(query_width()));
}

void LatentAttention::attend(const KvLayer& kv, LayerScratch& s) const {
  const ScratchScope between(s.ops);
  const auto temp = [&](std::int64_t width) {
    return s.ops.temp(DType::kF32, {s.queries(query_width()).dim(0), shape_.heads * width});
  };
  const Tensor latents = temp(blocks_.kv_rank), values = temp(blocks_.value_dim);
  s.ops.attention(s.queries(query_width()), kv, s.plan(shape_), latents);
  s.ops.linear_heads(values_, latents, values);
  s.ops.linear(*o_, values, s.delta);
}

}  // namespace foretoken
