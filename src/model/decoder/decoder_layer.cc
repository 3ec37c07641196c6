#include "model/decoder/decoder_layer.h"

namespace foretoken {

DecoderLayer::DecoderLayer(WeightReader& read, const ModelConfig& config, const std::string& prefix,
                           std::int64_t in_width, int layer)
    : attention_(make_attention(read, config, prefix, in_width, layer)),
      mlp_(make_mlp(read, config, prefix, layer)),
      norm_(config),
      residual_scale_(config.residual_scale),
      is_parallel_(config.is_parallel) {
  const auto norm = [&](const std::string& name) {
    return name.empty() ? Tensor{}
                        : read.vector(prefix + name + ".weight", config.hidden, config.norm_offset);
  };
  after_attention_ = norm(config.norms.after_attention);
  before_mlp_ = norm(config.norms.before_mlp);
  after_mlp_ = norm(config.norms.after_mlp);
  if (config.inputs.is_on()) input_.emplace(read, config, prefix, layer);
  if (config.has_layer_scale) scale_ = read.number(prefix + "layer_scalar");
}

void DecoderLayer::forward(Tensor in, const RopeTables& ropes, const KvLayer& kv,
                           LayerScratch& s) const {
  attention_->project(in, ropes, kv, s);
  finish(in, kv, s);
}

void DecoderLayer::forward_tail(Tensor in, const RopeTables& ropes, const KvLayer& kv,
                                LayerScratch& s, const BatchTail& tail, LayerScratch& end) const {
  attention_->project(in, ropes, kv, s);
  if (tail.rows.empty()) return;
  const std::int64_t width = attention_->query_width();
  s.ops.gather_rows(s.queries(width), tail.rows, end.queries(width));
  if (!s.gate.empty()) s.ops.gather_rows(s.gate, tail.rows, end.gate);
  if (!s.inputs.empty()) {
    end.inputs = s.ops.temp(DType::kF32, {end.residual.dim(0), s.inputs.dim(1)});
    s.ops.gather_rows(s.inputs, tail.rows, end.inputs);
  }
  s.ops.gather_rows(s.residual, tail.rows, end.residual);
  if (is_parallel_) s.ops.gather_rows(in, tail.rows, end.normed);
  finish(end.normed, kv, end);
}

void DecoderLayer::finish(Tensor in, const KvLayer& kv, LayerScratch& s) const {
  attention_->attend(kv, s);
  end_block(after_attention_, s);
  mlp_->forward(s.ops, mlp_input(in, s), s.residual, s.delta);
  end_block(after_mlp_, s);
  if (input_) {
    s.ops.add(s.residual, s.delta);
    input_->forward(s);
  }
  if (scale_ == 1.0F) return;
  s.ops.scale(s.residual, scale_);
  s.ops.scale(s.delta, scale_);
}

// What a block made, on its way to the stream.
void DecoderLayer::end_block(const Tensor& norm, LayerScratch& s) const {
  if (!norm.empty()) s.ops.norm(s.delta, norm, norm_.eps, s.delta);
  if (residual_scale_ != 1.0F) s.ops.scale(s.delta, residual_scale_);
}

// Adds what attention made to the stream.
Tensor DecoderLayer::mlp_input(Tensor in, LayerScratch& s) const {
  if (!before_mlp_.empty()) {
    norm_.add_run(s.ops, s.residual, s.delta, before_mlp_, s.normed);
    return s.normed;
  }
  s.ops.add(s.residual, s.delta);
  return is_parallel_ ? in : s.residual;
}

}  // namespace foretoken
