#include "model/decoder/layer_inputs.h"

#include <cmath>
#include <vector>

#include "backend/float_view.h"
#include "model/decoder/forward_memory.h"

namespace foretoken {
namespace {

std::int64_t width_of_all(const ModelConfig& config) {
  return std::int64_t{config.layers} * config.inputs.width;
}

}  // namespace

LayerInputs::LayerInputs(WeightReader& read, const ModelConfig& config, DType dtype)
    : embedding_(read, "model.embed_tokens_per_layer", config.vocab, width_of_all(config), false),
      projection_(read.linear({{"model.per_layer_model_projection", width_of_all(config)}},
                              config.hidden, Bias::kNone)),
      norm_(read.vector("model.per_layer_projection_norm.weight", config.inputs.width,
                        config.norm_offset)),
      eps_(config.rms_eps),
      embedding_scale_(round_to(dtype, std::sqrt(static_cast<float>(config.inputs.width)))),
      stream_scale_(1.0F / std::sqrt(static_cast<float>(config.hidden))) {}

Tensor LayerInputs::make(StepOps& ops, std::span<const Token> tokens, Tensor stream) const {
  const std::int64_t rows = stream.dim(0), all = projection_->out_width();
  const Tensor inputs = ops.temp(DType::kF32, {rows, all});
  const ScratchScope between(ops);
  const Tensor projected = ops.temp(DType::kF32, {rows, all});
  ops.linear(*projection_, stream, projected);
  ops.scale(projected, stream_scale_);
  const std::int64_t width = norm_.dim(0);
  const Tensor each(projected.data(), DType::kF32, {rows * all / width, width});
  ops.norm(each, norm_, eps_, each);
  embedding_.embed(ops, tokens, inputs);
  ops.scale(inputs, embedding_scale_);
  ops.add(inputs, projected);
  ops.scale(inputs, std::sqrt(0.5F));
  return inputs;
}

// All inputs, twice, and those of a layer with its gate, apart and together.
std::size_t LayerInputs::temp_bytes(const ModelConfig& config, std::int64_t rows) {
  if (!config.inputs.is_on()) return 0;
  return rows_bytes(rows, 3 * width_of_all(config) + 5 * std::int64_t{config.inputs.width}, 8);
}

LayerInput::LayerInput(WeightReader& read, const ModelConfig& config, const std::string& prefix,
                       int layer)
    : gate_(read.linear({{prefix + "per_layer_input_gate", config.inputs.width}}, config.hidden,
                        Bias::kNone)),
      up_(read.linear({{prefix + "per_layer_projection", config.hidden}}, config.inputs.width,
                      Bias::kNone)),
      norm_(read.vector(prefix + "post_per_layer_input_norm.weight", config.hidden,
                        config.norm_offset)),
      act_(config.activation),
      layer_(layer),
      layers_(config.layers),
      eps_(config.rms_eps) {}

void LayerInput::forward(LayerScratch& s) const {
  const ScratchScope inside(s.ops);
  const std::int64_t rows = s.residual.dim(0), width = gate_->out_width();
  const auto temp = [&](std::int64_t of) { return s.ops.temp(DType::kF32, {rows, of}); };
  const Tensor each(s.inputs.data(), DType::kF32, {rows * layers_, width});
  std::vector<std::int32_t> own;
  for (std::int64_t row = 0; row < rows; ++row)
    own.push_back(static_cast<std::int32_t>(row * layers_ + layer_));
  const Tensor gate = temp(width), input = temp(width), both = temp(2 * width);
  s.ops.linear(*gate_, s.residual, gate);
  s.ops.gather_rows(each, own, input);
  s.ops.join_columns(gate, input, both);
  s.ops.gated_act(both, act_, gate);
  s.ops.linear(*up_, gate, s.delta);
  s.ops.norm(s.delta, norm_, eps_, s.delta);
}

}  // namespace foretoken
