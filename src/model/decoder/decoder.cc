#include "model/decoder/decoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "backend/float_view.h"
#include "base/error.h"
#include "base/log.h"
#include "batch/batch_tail.h"
#include "model/decoder/decoder_layer.h"
#include "model/decoder/forward_memory.h"
#include "model/decoder/layer_inputs.h"
#include "model/decoder/logits.h"
#include "model/decoder/rope.h"
#include "model/decoder/weight_reader.h"

namespace foretoken {

struct Decoder::Layer {
  Tensor input_norm;  // empty: there is none
  DecoderLayer body;
};

struct Decoder::Weights {
  std::optional<Embedding> embedding;
  std::optional<LayerInputs> inputs;
  std::vector<Layer> layers;
  Tensor final_norm;
  std::unique_ptr<PackedLinear> head;  // null: tied to the embedding
  RopeTables ropes;
  float embedding_scale = 1;
  std::size_t bytes = 0;
};

namespace {

Tensor copy_of(StepOps& ops, Tensor x) {
  std::vector<std::int32_t> every_row(static_cast<std::size_t>(x.dim(0)));
  std::iota(every_row.begin(), every_row.end(), 0);
  const Tensor copy = ops.temp(x.dtype(), x.shape());
  ops.gather_rows(x, every_row, copy);
  return copy;
}

// The first layer that most rows need not leave: the last one that stores keys and values, unless
// what enters a later one is wanted of all rows. As many as there are layers: none.
int tail_layer(const FeatureTaps& taps, const ModelConfig& config) {
  if (taps.last_hidden) return config.layers;
  const int stores = config.kv_layers() - 1;
  return taps.layer_inputs.empty() ? stores : std::max(stores, taps.layer_inputs.back());
}

constexpr const char* kTokens = "model.embed_tokens";
constexpr const char* kHead = "lm_head";

bool has_matrix(const WeightSource& source, const std::string& name) {
  return std::ranges::count(source.names(), name + ".weight") > 0;
}

std::optional<Tensor> matrix_named(const WeightSource& source, const std::string& name,
                                   const Shape& shape) {
  if (!has_matrix(source, name)) return std::nullopt;
  return source.find(name + ".weight", shape);
}

// The matrix that is looked up and multiplied with: its name, or nothing where there are two. Some
// writers keep it under the name of the head alone; a head that was trained on is another matrix
// whatever the config says, as transformers sees it.
std::optional<std::string> tied_matrix(const ModelConfig& config, const WeightSource& source) {
  if (!config.tied_embeddings) return std::nullopt;
  const Shape shape{config.vocab, config.hidden};
  if (!has_matrix(source, kHead)) return kTokens;
  const auto tokens = matrix_named(source, kTokens, shape);
  const auto head = matrix_named(source, kHead, shape);
  if (!tokens && head) return kHead;
  const bool are_two = tokens && head && tokens->dtype() == head->dtype() &&
                       tokens->bytes() == head->bytes() &&
                       std::memcmp(tokens->data(), head->data(), head->bytes()) != 0;
  if (!are_two) return kTokens;
  log_warning(
      "lm_head.weight is another matrix than the embedding, though config.json ties them: "
      "both are used ({})",
      source.where());
  return std::nullopt;
}

}  // namespace

Decoder::Decoder(LoadOps& ops, const ModelConfig& config, const WeightSource& source, DType dtype,
                 const Quantization& quantization)
    : config_(config), norm_(config), dtype_(dtype), weights_(std::make_unique<Weights>()) {
  WeightReader read(ops, source, dtype, quantization, config.stored_quantization);
  const std::int64_t hidden = config.hidden;
  const auto tied = tied_matrix(config, source);
  weights_->embedding.emplace(read, tied.value_or(kTokens), config.vocab, hidden, tied.has_value());
  if (config.inputs.is_on()) weights_->inputs.emplace(read, config, dtype);
  for (int i = 0; i < config.layers; ++i) {
    const std::string name = "model.layers." + std::to_string(i) + ".";
    const std::string& norm = config.norms.before_attention;
    const Tensor input_norm =
        norm.empty() ? Tensor{} : read.vector(name + norm + ".weight", hidden, config.norm_offset);
    weights_->layers.push_back({input_norm, DecoderLayer(read, config, name, hidden, i)});
  }
  weights_->final_norm = read.vector("model.norm.weight", hidden, config.norm_offset);
  if (tied)
    read.skip(std::string(kHead) + ".weight");  // some writers store the shared matrix twice
  else
    weights_->head = read.linear({{kHead, config.vocab}}, hidden, Bias::kNone, MatrixRole::kHead);
  read.finish();
  weights_->ropes = RopeTables(ops, config);
  weights_->bytes = read.packed_bytes() + weights_->ropes.bytes();
  const auto scale = static_cast<float>(config.embedding_scale);
  weights_->embedding_scale = config.rounds_embedding_scale ? round_to(dtype, scale) : scale;
}

Decoder::~Decoder() = default;

Features Decoder::forward(StepOps& ops, const Batch& batch, const KvStore& kv,
                          const FeatureTaps& taps) const {
  weights_->ropes.reach(batch);
  LayerScratch s(ops, config_, batch);
  Features features;
  features.kv = &kv;
  auto tap = taps.layer_inputs.begin();
  auto tap_residual = [&](int layer) {
    for (; tap != taps.layer_inputs.end() && *tap == layer; ++tap)
      features.taps.push_back(copy_of(ops, s.residual));
  };

  const int last = ends_early(batch) ? tail_layer(taps, config_) : config_.layers;
  embed(batch.token, s);
  for (int i = 0; i < config_.layers; ++i) {
    const Tensor in = enter(i, s);
    tap_residual(i);
    if (i == last) {
      end_with_tail(i, in, kv, s, features);
      return features;
    }
    layer(i).forward(in, weights_->ropes, kv.layer(config_.kv_of(i)), s);
  }
  norm_.add_run(ops, s.residual, s.delta, weights_->final_norm, s.normed);
  tap_residual(config_.layers);
  CHECK(tap == taps.layer_inputs.end()) << "tap of layer " << *tap;
  features.last_hidden = s.normed;
  return features;
}

const DecoderLayer& Decoder::layer(int i) const {
  return weights_->layers[static_cast<std::size_t>(i)].body;
}

void Decoder::embed(std::span<const Token> tokens, LayerScratch& s) const {
  embed(s.ops, tokens, s.residual);
  if (weights_->inputs) s.inputs = weights_->inputs->make(s.ops, tokens, s.residual);
}

void Decoder::embed(StepOps& ops, std::span<const Token> tokens, Tensor out) const {
  weights_->embedding->embed(ops, tokens, out);
  if (weights_->embedding_scale != 1.0F) ops.scale(out, weights_->embedding_scale);
}

// Adds what the layer before made to the stream and gives what this one reads.
Tensor Decoder::enter(int i, LayerScratch& s) const {
  const Tensor& norm = weights_->layers[static_cast<std::size_t>(i)].input_norm;
  if (norm.empty()) {
    if (i > 0) s.ops.add(s.residual, s.delta);
    return s.residual;
  }
  if (i == 0)
    norm_.run(s.ops, s.residual, norm, s.normed);
  else
    norm_.add_run(s.ops, s.residual, s.delta, norm, s.normed);
  return s.normed;
}

// A layer where most rows leave their keys and values only, and those behind it.
void Decoder::end_with_tail(int first, Tensor in, const KvStore& kv, LayerScratch& s,
                            Features& features) const {
  BatchTail tail = tail_of(s.batch);
  LayerScratch end(s.ops, config_, tail.batch);
  const auto kv_of = [&](int i) -> const KvLayer& { return kv.layer(config_.kv_of(i)); };
  layer(first).forward_tail(in, weights_->ropes, kv_of(first), s, tail, end);
  for (int i = first + 1; i < config_.layers && !tail.rows.empty(); ++i)
    layer(i).forward(enter(i, end), weights_->ropes, kv_of(i), end);
  if (!tail.rows.empty())
    norm_.add_run(s.ops, end.residual, end.delta, weights_->final_norm, end.normed);
  features.last_hidden = end.normed;
  features.last_rows = std::move(tail.rows);
}

const Embedding& Decoder::embedding() const { return *weights_->embedding; }

const PackedLinear& Decoder::head() const {
  return weights_->head ? *weights_->head : *weights_->embedding->packed();
}

Tensor Decoder::logits(StepOps& ops, Tensor hidden) const {
  const Tensor out = ops.temp(DType::kF32, {hidden.dim(0), config_.vocab});
  ops.linear(head(), hidden, out);
  finish_logits(ops, config_, out);
  return out;
}

KvShape Decoder::kv_shape() const { return kv_shape_of(config_, dtype_); }

std::size_t Decoder::weight_bytes() const { return weights_->bytes; }

double Decoder::step_bytes(std::int64_t rows) const {
  double all = static_cast<double>(weights_->bytes) - weights_->embedding->unread_bytes(rows);
  if (weights_->inputs) all -= weights_->inputs->unread_bytes(rows);
  const Routing& routing = config_.experts.routing;
  if (routing.experts == 0) return all;
  double experts = 0;
  for (const Layer& layer : weights_->layers)
    experts += static_cast<double>(layer.body.expert_bytes());
  const double untouched_by_one = 1.0 - static_cast<double>(routing.chosen) / routing.experts;
  return all - experts * std::pow(untouched_by_one, rows);
}

}  // namespace foretoken
