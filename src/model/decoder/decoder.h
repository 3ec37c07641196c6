#pragma once
// Decoder: the one layer loop of all dense decoder-only models (config/family_table.h), with feature
// taps. Owns packed weights; immutable after construction. Not aware of KV paging, sampling
// or drafting.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/ops/load_ops.h"
#include "backend/ops/step_ops.h"
#include "checkpoint/checkpoint.h"
#include "kv/kv_store.h"
#include "model/config/model_config.h"
#include "model/config/quantization.h"
#include "model/decoder/embedding.h"
#include "model/decoder/stream_norm.h"

namespace foretoken {

// Which intermediate results a drafter wants from each forward.
struct FeatureTaps {
  bool last_hidden = false;       // hidden state after the final norm, of all rows
  std::vector<int> layer_inputs;  // residual stream entering these layers, ascending; `layers`
                                  // means the one that leaves the last layer
};

// Views of step-lifetime scratch, float32 [rows, hidden] each where nothing else is said.
struct Features {
  Tensor last_hidden;        // after the final norm, [rows of it, hidden]
  std::vector<Tensor> taps;  // in the order of FeatureTaps::layer_inputs
  // Rows of the batch that last_hidden has, ascending; empty: all. Where nobody asked for all,
  // those before the first logit row of a sequence may be missing.
  std::vector<std::int32_t> last_rows = {};
  const KvStore* kv = nullptr;  // the model's keys and values; null: who made this has none
};

class DecoderLayer;
struct LayerScratch;

class Decoder {
 public:
  // Packs all weights. Throws Error naming the tensor that is missing, misshapen or unexpected.
  Decoder(LoadOps& ops, const ModelConfig& config, const WeightSource& weights, DType dtype,
          const Quantization& quantization = {});
  ~Decoder();

  Features forward(StepOps& ops, const Batch& batch, const KvStore& kv,
                   const FeatureTaps& taps) const;
  Tensor logits(StepOps& ops, Tensor hidden) const;  // hidden [n, hidden] -> [n, vocab]

  const Embedding& embedding() const;  // [vocab, hidden]
  // What enters the first layer: rows of it, scaled as the model has it.
  void embed(StepOps& ops, std::span<const Token> tokens, Tensor out) const;
  const PackedLinear& head() const;  // [vocab, hidden]; the embedding where they are tied

  const ModelConfig& config() const { return config_; }
  DType dtype() const { return dtype_; }  // of weights that are floats
  KvShape kv_shape() const;
  std::size_t weight_bytes() const;
  // The bytes of weights that a step of `rows` rows reads, if rows choose their experts at random.
  double step_bytes(std::int64_t rows) const;

 private:
  struct Layer;
  struct Weights;
  const DecoderLayer& layer(int i) const;
  void embed(std::span<const Token> tokens, LayerScratch& s) const;
  Tensor enter(int layer, LayerScratch& s) const;
  void end_with_tail(int first, Tensor in, const KvStore& kv, LayerScratch& s,
                     Features& features) const;

  ModelConfig config_;
  StreamNorm norm_;
  DType dtype_;
  std::unique_ptr<Weights> weights_;
};

}  // namespace foretoken
