#include "model/decoder.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "model/rope.h"
#include "model/weight_reader.h"

namespace foretoken {

struct Decoder::Layer {
  Tensor input_norm;
  std::unique_ptr<PackedLinear> qkv;  // q | k | v
  QkNorm qk_norm;
  std::unique_ptr<PackedLinear> o;
  Tensor post_attention_norm;
  std::unique_ptr<PackedLinear> gate_up;  // gate | up
  std::unique_ptr<PackedLinear> down;
  AttentionShape attention;
};

struct Decoder::Weights {
  std::unique_ptr<PackedLinear> embedding;
  std::vector<Layer> layers;
  Tensor final_norm;
  std::unique_ptr<PackedLinear> head;  // null: tied to the embedding
  RopeTable rope;
  std::size_t bytes = 0;
};

// What one forward writes; every layer writes the same tensors anew.
struct Decoder::Scratch {
  Tensor residual;  // [rows, hidden], the stream between layers without the pending `delta`
  Tensor normed;    // [rows, hidden]
  Tensor delta;     // [rows, hidden], what a block adds to the residual
  Tensor qkv, q, attended, gate_up, gated;

  Scratch(Ops& ops, const ModelConfig& config, std::int64_t rows) {
    const std::int64_t q_width = std::int64_t{config.heads} * config.head_dim;
    const std::int64_t kv_width = std::int64_t{config.kv_heads} * config.head_dim;
    auto temp = [&](std::int64_t width) { return ops.temp(DType::kF32, {rows, width}); };
    residual = temp(config.hidden);
    normed = temp(config.hidden);
    delta = temp(config.hidden);
    qkv = temp(q_width + 2 * kv_width);
    q = temp(q_width);
    attended = temp(q_width);
    gate_up = temp(2 * std::int64_t{config.intermediate});
    gated = temp(config.intermediate);
  }
};

namespace {

Bias bias_if(bool is_present) { return is_present ? Bias::kRequired : Bias::kNone; }

AttentionShape attention_shape(const ModelConfig& config, int layer) {
  return {.heads = config.heads,
          .kv_heads = config.kv_heads,
          .head_dim = config.head_dim,
          .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.head_dim))),
          .window = config.window(layer)};
}

Tensor copy_of(Ops& ops, Tensor x) {
  std::vector<std::int32_t> every_row(static_cast<std::size_t>(x.dim(0)));
  std::iota(every_row.begin(), every_row.end(), 0);
  const Tensor copy = ops.temp(x.dtype(), x.shape());
  ops.gather_rows(x, every_row, copy);
  return copy;
}

}  // namespace

Decoder::Decoder(Ops& ops, const ModelConfig& config, const WeightSource& source, DType dtype)
    : config_(config), dtype_(dtype), weights_(std::make_unique<Weights>()) {
  WeightReader read(ops, source, dtype);
  const std::int64_t hidden = config.hidden;
  const std::int64_t q_width = std::int64_t{config.heads} * config.head_dim;
  const std::int64_t kv_width = std::int64_t{config.kv_heads} * config.head_dim;
  weights_->embedding = read.linear({{"model.embed_tokens", config.vocab}}, hidden, Bias::kNone);
  for (int i = 0; i < config.layers; ++i) {
    const std::string name = "model.layers." + std::to_string(i) + ".";
    const std::string attention = name + "self_attn.", mlp = name + "mlp.";
    Layer layer;
    layer.input_norm = read.vector(name + "input_layernorm.weight", hidden);
    layer.qkv = read.linear({{attention + "q_proj", q_width},
                             {attention + "k_proj", kv_width},
                             {attention + "v_proj", kv_width}},
                            hidden, bias_if(config.qkv_bias));
    if (config.qk_norm)
      layer.qk_norm = {.q_weight = read.vector(attention + "q_norm.weight", config.head_dim),
                       .k_weight = read.vector(attention + "k_norm.weight", config.head_dim),
                       .eps = config.rms_eps};
    layer.o = read.linear({{attention + "o_proj", hidden}}, q_width, bias_if(config.o_bias));
    layer.post_attention_norm = read.vector(name + "post_attention_layernorm.weight", hidden);
    layer.gate_up = read.linear(
        {{mlp + "gate_proj", config.intermediate}, {mlp + "up_proj", config.intermediate}}, hidden,
        bias_if(config.mlp_bias));
    layer.down =
        read.linear({{mlp + "down_proj", hidden}}, config.intermediate, bias_if(config.mlp_bias));
    layer.attention = attention_shape(config, i);
    weights_->layers.push_back(std::move(layer));
  }
  weights_->final_norm = read.vector("model.norm.weight", hidden);
  if (config.tied_embeddings) {
    read.skip("lm_head.weight");  // some writers store the shared matrix twice
  } else {
    weights_->head = read.linear({{"lm_head", config.vocab}}, hidden, Bias::kNone);
  }
  read.finish();
  weights_->rope = make_rope_table(ops, config);
  weights_->bytes = read.packed_bytes() + weights_->rope.cos.bytes() + weights_->rope.sin.bytes();
}

Decoder::~Decoder() = default;

// delta = attention(normed)
void Decoder::run_attention(Ops& ops, int index, const Batch& batch, const KvLayer& kv,
                            Scratch& s) const {
  const Layer& layer = weights_->layers[static_cast<std::size_t>(index)];
  ops.linear(*layer.qkv, s.normed, s.qkv);
  ops.rope_store_kv(s.qkv, weights_->rope, layer.qk_norm, layer.attention, batch, kv, s.q);
  ops.attention(s.q, kv, layer.attention, batch, s.attended);
  ops.linear(*layer.o, s.attended, s.delta);
}

// delta = mlp(normed)
void Decoder::run_mlp(Ops& ops, int index, Scratch& s) const {
  const Layer& layer = weights_->layers[static_cast<std::size_t>(index)];
  ops.linear(*layer.gate_up, s.normed, s.gate_up);
  ops.gated_act(s.gate_up, s.gated);
  ops.linear(*layer.down, s.gated, s.delta);
}

Features Decoder::forward(Ops& ops, const Batch& batch, const KvStore& kv,
                          const FeatureTaps& taps) const {
  Scratch s(ops, config_, batch.rows);
  Features features;
  auto tap = taps.layer_inputs.begin();
  auto tap_residual = [&](int layer) {
    for (; tap != taps.layer_inputs.end() && *tap == layer; ++tap)
      features.taps.push_back(copy_of(ops, s.residual));
  };

  ops.embed(*weights_->embedding, batch.token, s.residual);
  for (int i = 0; i < config_.layers; ++i) {
    const Layer& layer = weights_->layers[static_cast<std::size_t>(i)];
    if (i == 0) {
      ops.norm(s.residual, layer.input_norm, config_.rms_eps, s.normed);
    } else {
      ops.add_norm(s.residual, s.delta, layer.input_norm, config_.rms_eps, s.normed);
    }
    tap_residual(i);
    run_attention(ops, i, batch, kv.layer(i), s);
    ops.add_norm(s.residual, s.delta, layer.post_attention_norm, config_.rms_eps, s.normed);
    run_mlp(ops, i, s);
  }
  ops.add_norm(s.residual, s.delta, weights_->final_norm, config_.rms_eps, s.normed);
  tap_residual(config_.layers);
  CHECK(tap == taps.layer_inputs.end()) << "tap of layer " << *tap;
  features.last_hidden = s.normed;
  return features;
}

void Decoder::embed(Ops& ops, std::span<const Token> tokens, Tensor out) const {
  ops.embed(*weights_->embedding, tokens, out);
}

Tensor Decoder::logits(Ops& ops, Tensor hidden) const {
  const Tensor out = ops.temp(DType::kF32, {hidden.dim(0), config_.vocab});
  ops.linear(weights_->head ? *weights_->head : *weights_->embedding, hidden, out);
  return out;
}

KvShape Decoder::kv_shape() const {
  return {.layers = config_.layers,
          .kv_heads = config_.kv_heads,
          .head_dim = config_.head_dim,
          .dtype = dtype_};
}

std::size_t Decoder::weight_bytes() const { return weights_->bytes; }

}  // namespace foretoken
