#pragma once
// LayerInputs: what the layers of a model read of the token itself, beside the stream
// (InputBlocks), and LayerInput: what one layer makes of it. Both immutable after construction.

#include <memory>
#include <span>
#include <string>

#include "backend/ops/step_ops.h"
#include "model/config/model_config.h"
#include "model/decoder/embedding.h"
#include "model/decoder/layer_scratch.h"
#include "model/decoder/weight_reader.h"

namespace foretoken {

class LayerInputs {
 public:
  LayerInputs(WeightReader& read, const ModelConfig& config, DType dtype);

  // [rows, layers * width] of these tokens; stream [rows, hidden]: their embedding, scaled.
  Tensor make(StepOps& ops, std::span<const Token> tokens, Tensor stream) const;

  double unread_bytes(std::int64_t tokens) const { return embedding_.unread_bytes(tokens); }

  // Bytes that make() and the layers ask StepOps::temp for, with `rows` rows.
  static std::size_t temp_bytes(const ModelConfig& config, std::int64_t rows);

 private:
  Embedding embedding_;
  std::unique_ptr<PackedLinear> projection_;
  Tensor norm_;
  float eps_, embedding_scale_, stream_scale_;
};

class LayerInput {
 public:
  // prefix: of the layer's tensors, with the dot.
  LayerInput(WeightReader& read, const ModelConfig& config, const std::string& prefix, int layer);

  // scratch.delta = what the layer makes of its part of scratch.inputs and of scratch.residual,
  // which is complete.
  void forward(LayerScratch& scratch) const;

 private:
  std::unique_ptr<PackedLinear> gate_, up_;
  Tensor norm_;
  Activation act_;
  int layer_, layers_;
  float eps_;
};

}  // namespace foretoken
