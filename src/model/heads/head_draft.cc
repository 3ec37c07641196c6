#include "model/heads/head_draft.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "model/decoder/decoder_layer.h"
#include "model/decoder/forward_memory.h"
#include "model/decoder/logits.h"
#include "model/decoder/rope.h"

namespace foretoken {

struct HeadDraft::Weights {
  std::optional<Embedding> embedding;  // none: the target's
  std::unique_ptr<PackedLinear> tap_join, join, head;
  Tensor taps_norm, embedding_norm, feature_norm, final_norm;
  std::vector<Tensor> tap_norms;
  std::vector<Tensor> input_norms;  // by layer; empty: there is none
  std::vector<DecoderLayer> layers;
  Tensor zero;  // [1, width of an embedding]
  RopeTables ropes;
  std::size_t bytes = 0;
};

HeadDraft::HeadDraft(Ops& ops, const HeadConfig& config, const WeightSource& weights,
                     const Decoder& target, std::optional<DraftedTokens> drafted,
                     const Quantization& quantization)
    : ops_(ops),
      config_(config),
      target_(target),
      quantization_(quantization),
      weights_(std::make_unique<Weights>()) {
  read_weights(weights);
  if (!drafted || !target_token_.empty()) return;
  part_.emplace(ops_, output(), target_.dtype(), quantization_.head, std::move(*drafted));
  weights_->bytes += part_->bytes();
}

HeadDraft::~HeadDraft() = default;

void HeadDraft::read_weights(const WeightSource& source) {
  WeightReader read(ops_, source, target_.dtype(), quantization_,
                    config_.layer.stored_quantization);
  Weights& w = *weights_;
  const ModelConfig& c = config_.layer;
  if (c.is_parallel && config_.join == HeadConfig::Join::kLayer)
    throw Error({.what = "a draft head's first layer cannot run attention and MLP side by side",
                 .where = source.where(),
                 .expected = "an MLP behind the attention",
                 .found = c.architecture});
  const std::int64_t hidden = c.hidden,
                     taps_width = config_.target_hidden *
                                  static_cast<std::int64_t>(config_.taps.layer_inputs.size());
  const auto norm = [&](const std::string& name, std::int64_t width) {
    return name.empty() ? Tensor{} : read.vector(name + ".weight", width, c.norm_offset);
  };
  if (config_.has_embedding)
    w.embedding.emplace(read, config_.embedding_name, c.vocab, hidden, config_.head_is_embedding);
  if (!config_.tap_join_name.empty())
    w.tap_join =
        read.linear({{config_.tap_join_name, hidden}}, taps_width, bias_if(config_.tap_join_bias));
  if (!config_.join_name.empty())
    w.join = read.linear({{config_.join_name, hidden}}, 2 * hidden, bias_if(config_.join_bias));
  w.taps_norm = norm(config_.taps_norm, taps_width);
  for (std::size_t i = 0; !config_.tap_norms_name.empty() && i < config_.taps.layer_inputs.size();
       ++i)
    w.tap_norms.push_back(norm(config_.tap_norms_name + std::to_string(i), config_.target_hidden));
  w.embedding_norm = norm(config_.embedding_norm, hidden);
  w.feature_norm = norm(config_.feature_norm, hidden);
  w.final_norm = norm(config_.final_norm, hidden);
  for (int i = 0; i < c.layers; ++i) {
    const std::string prefix = config_.layer_prefix(i);
    const bool reads_both = i == 0 && config_.join == HeadConfig::Join::kLayer;
    w.input_norms.push_back(norm(config_.norm_before(i), hidden));
    w.layers.emplace_back(read, c, prefix, reads_both ? 2 * hidden : hidden, i);
  }
  read_head(read, source);
  skip_unused(read);
  if (config_.is_whole_checkpoint) read.finish();
  w.ropes = RopeTables(ops_, c);
  if (config_.first_embedding_is_zero) w.zero = ops_.alloc(DType::kF32, {1, hidden});
  w.bytes = read.packed_bytes() + w.ropes.bytes();
  pack_target_embedding();
}

void HeadDraft::read_head(WeightReader& read, const WeightSource& source) {
  if (!config_.head_name.empty())
    weights_->head = read.linear({{config_.head_name, config_.draft_vocab}}, config_.layer.hidden,
                                 Bias::kNone, MatrixRole::kHead);
  if (config_.draft_vocab > 0) read_draft_vocab(source);
}

// What checkpoints of heads hold besides: maps of the vocabulary, copies of the target's matrices,
// and the norm that EAGLE's first layer does without.
void HeadDraft::skip_unused(WeightReader& read) {
  read.skip("d2t");
  read.skip("t2d");
  if (!config_.has_embedding) read.skip_under("embed_tokens.");
  if (config_.head_name.empty()) read.skip_under("lm_head.");
  if (config_.norm_before(0).empty())
    read.skip(config_.layer_prefix(0) + kUsualNorm + std::string(".weight"));
}

std::unique_ptr<PackedLinear> HeadDraft::pack_output(const Tensor& rows) {
  return ops_.pack({.weights = {&rows, 1},
                    .biases = {},
                    .dtype = target_.dtype(),
                    .format = quantization_.head});
}

// The target's embedding is the output matrix, too, but the target only looks it up: a packed copy.
void HeadDraft::pack_target_embedding() {
  const Tensor& rows = target_.embedding().rows();
  if (!config_.head_is_embedding || config_.has_embedding || rows.empty()) return;
  weights_->head = pack_output(rows);
  weights_->bytes += weights_->head->bytes();
}

// d2t holds offsets: draft id i stands for the target's id i + d2t[i].
void HeadDraft::read_draft_vocab(const WeightSource& source) {
  const std::int64_t count = config_.draft_vocab, vocab = target_.config().vocab;
  if (source.names().empty()) {  // made-up weights: ids from all of the vocabulary
    for (std::int64_t i = 0; i < count; ++i)
      target_token_.push_back(static_cast<Token>(i * vocab / count));
    return;
  }
  const auto d2t = source.find("d2t", {count});
  const std::string where = source.where() + ", tensor d2t";
  if (!d2t && count == vocab) return;
  if (!d2t) throw Error({"missing weight", where, {}, {}});
  if (!(d2t->shape() == Shape{count}) || d2t->dtype() != DType::kI64)
    throw Error({"weight has the wrong shape or dtype", where, "int64 " + Shape{count}.str(),
                 std::string(dtype_name(d2t->dtype())) + " " + d2t->shape().str()});
  const auto* offsets = static_cast<const std::int64_t*>(d2t->data());
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t offset = offsets[i];  // read once: the file may be written to meanwhile
    if (offset < -i || offset >= vocab - i)
      throw Error({"d2t leads out of the target's vocabulary", where,
                   fmt::format("ids below {}", vocab),
                   fmt::format("draft id {} with offset {}", i, offset)});
    target_token_.push_back(static_cast<Token>(i + offset));
  }
  source.release("d2t");
}

std::span<const Token> HeadDraft::target_tokens() const {
  return part_ ? part_->tokens() : target_token_;
}

void HeadDraft::see(std::span<const Token> text) {
  if (part_) part_->see(text);
}

void HeadDraft::allocate_kv(int num_pages) { kv_.emplace(ops_, kv_shape(), num_pages); }

KvShape HeadDraft::kv_shape() const { return kv_shape_of(config_.layer, target_.dtype()); }

std::size_t HeadDraft::weight_bytes() const { return weights_->bytes; }

// x [rows, width]; without a weight it stays as it is.
Tensor HeadDraft::normed(Tensor x, Tensor weight) {
  if (weight.empty()) return x;
  const Tensor out = ops_.temp(DType::kF32, x.shape());
  ops_.norm(x, weight, config_.layer.rms_eps, out);
  return out;
}

// The taps of some rows side by side, [rows, taps * target_hidden].
Tensor HeadDraft::joined_taps(const Features& target, std::span<const std::int32_t> rows) {
  const auto count = static_cast<std::int64_t>(rows.size());
  const auto taps = static_cast<std::int64_t>(target.taps.size());
  const std::int64_t width = config_.target_hidden;
  const Tensor joined = ops_.temp(DType::kF32, {count, taps * width});
  for (std::int64_t i = 0; i < taps; ++i) {
    const Tensor& tap = target.taps[at(i)];
    if (weights_->tap_norms.empty()) {
      ops_.gather_columns(tap, rows, joined, i * width);
      continue;
    }
    const Tensor some = ops_.temp(DType::kF32, {count, width});
    ops_.gather_rows(tap, rows, some);
    every_row_.resize(rows.size());
    std::iota(every_row_.begin(), every_row_.end(), 0);
    ops_.gather_columns(normed(some, weights_->tap_norms[at(i)]), every_row_, joined, i * width);
  }
  return joined;
}

Tensor HeadDraft::features(const Features& target, std::span<const std::int32_t> rows) {
  const Tensor out = ops_.temp(
      DType::kF32, {static_cast<std::int64_t>(rows.size()), std::int64_t{config_.layer.hidden}});
  if (weights_->tap_join)
    ops_.linear(*weights_->tap_join, normed(joined_taps(target, rows), weights_->taps_norm), out);
  else
    ops_.gather_rows(target.last_hidden, rows, out);
  return out;
}

Tensor HeadDraft::embed(const Batch& batch) {
  const Tensor out = ops_.temp(DType::kF32, {batch.rows, config_.layer.hidden});
  const Embedding& own = weights_->embedding ? *weights_->embedding : target_.embedding();
  own.embed(ops_, batch.token, out);
  if (!config_.first_embedding_is_zero) return out;
  constexpr std::int32_t kOnly = 0;
  for (std::int32_t row = 0; row < batch.rows; ++row)
    if (batch.position[at(row)] == 0) ops_.copy_rows(weights_->zero, {&kOnly, 1}, out, {&row, 1});
  return out;
}

// What enters the first layer's attention; `residual` becomes the stream that its result is added
// to.
Tensor HeadDraft::join(const Batch& batch, Tensor features, Tensor& residual) {
  const Weights& w = *weights_;
  const std::int64_t hidden = config_.layer.hidden;
  const Tensor e = normed(embed(batch), w.embedding_norm), h = normed(features, w.feature_norm);
  const Tensor both = ops_.temp(DType::kF32, {batch.rows, 2 * hidden});
  if (config_.feature_first)
    ops_.join_columns(h, e, both);
  else
    ops_.join_columns(e, h, both);
  if (!w.join) {
    residual = config_.norm_before_residual ? h : features;
    return both;
  }
  ops_.linear(*w.join, both, residual);
  return normed(residual, w.input_norms[0]);
}

DraftRows HeadDraft::forward(Batch& batch, const DraftInput& input) {
  weights_->ropes.reach(batch);
  const Weights& w = *weights_;
  LayerScratch s(ops_, config_.layer, batch);
  Tensor in = join(batch, input.features, s.residual);
  const bool ends_with_tail = input.reads_logit_rows && ends_early(batch);
  for (std::size_t i = 0; i < w.layers.size(); ++i) {
    if (i > 0) {
      ops_.add_norm(s.residual, s.delta, w.input_norms[i], config_.layer.rms_eps, s.normed);
      in = s.normed;
    }
    const KvLayer& kv = kv_->layer(static_cast<int>(i));
    if (ends_with_tail && i + 1 == w.layers.size()) return end_with_tail(in, kv, s);
    w.layers[i].forward(in, w.ropes, kv, s);
  }
  return conclude(s);
}

// The last layer, where most rows leave their keys and values only.
DraftRows HeadDraft::end_with_tail(Tensor in, const KvLayer& kv, LayerScratch& s) {
  BatchTail tail = tail_of(s.batch);
  LayerScratch end(ops_, config_.layer, tail.batch);
  weights_->layers.back().forward_tail(in, weights_->ropes, kv, s, tail, end);
  if (tail.rows.empty()) return {.hidden = end.normed, .feature = end.normed};
  DraftRows found = conclude(end);
  found.rows = std::move(tail.rows);
  return found;
}

// What has gone through all layers.
DraftRows HeadDraft::conclude(LayerScratch& s) {
  const Weights& w = *weights_;
  if (w.final_norm.empty()) {
    ops_.add(s.residual, s.delta);
    return {.hidden = s.residual, .feature = s.residual};
  }
  ops_.add_norm(s.residual, s.delta, w.final_norm, config_.layer.rms_eps, s.normed);
  return {.hidden = s.normed, .feature = config_.recurs_before_norm ? s.residual : s.normed};
}

const PackedLinear& HeadDraft::output() const {
  return weights_->head               ? *weights_->head
         : !config_.head_is_embedding ? target_.head()
         : weights_->embedding        ? *weights_->embedding->packed()
                                      : *target_.embedding().packed();
}

std::int64_t HeadDraft::logit_width() const {
  return part_ ? part_->most_columns() : output().out_width();
}

std::size_t HeadDraft::logit_bytes(std::int64_t rows) const {
  return part_ ? part_->logit_bytes(rows) : DraftModel::logit_bytes(rows);
}

Tensor HeadDraft::whole_logits(Tensor hidden) {
  const Tensor out = ops_.temp(DType::kF32, {hidden.dim(0), output().out_width()});
  ops_.linear(output(), hidden, out);
  return out;
}

Tensor HeadDraft::logits(Tensor hidden) {
  const Tensor out = part_ ? part_->logits(ops_, hidden) : whole_logits(hidden);
  finish_logits(ops_, config_.layer, out);
  return out;
}

}  // namespace foretoken
