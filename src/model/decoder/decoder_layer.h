#pragma once
// DecoderLayer: one layer of a decoder: attention and MLP with the norms around them, each
// added to the stream of residuals, as the model's Blocks have it. Decoders are stacks of them, draft
// heads one or a few. The norm in front of attention is the caller's, because heads join what they
// read in ways of their own. Immutable after construction.

#include <memory>
#include <optional>
#include <string>

#include "backend/ops/step_ops.h"
#include "batch/batch_tail.h"
#include "model/config/model_config.h"
#include "model/decoder/attention_block.h"
#include "model/decoder/layer_inputs.h"
#include "model/decoder/layer_scratch.h"
#include "model/decoder/mlp.h"
#include "model/decoder/stream_norm.h"
#include "model/decoder/weight_reader.h"

namespace foretoken {

class DecoderLayer {
 public:
  // prefix: of the tensors' names, with the dot. in_width: of what attention reads. layer: whose
  // window and rotation it has. Throws Error naming the tensor that is missing or misshapen.
  DecoderLayer(WeightReader& read, const ModelConfig& config, const std::string& prefix,
               std::int64_t in_width, int layer);

  // residual += attention(in); delta = mlp(norm(residual)), still to be added. in [rows, in_width]
  // may be the residual.
  void forward(Tensor in, const RopeTables& ropes, const KvLayer& kv, LayerScratch& scratch) const;

  // The same for the last layer of a batch whose other rows leave their keys and values only:
  // `end`, of the tail's batch, gets what its rows have in `scratch` elsewhere.
  void forward_tail(Tensor in, const RopeTables& ropes, const KvLayer& kv, LayerScratch& scratch,
                    const BatchTail& tail, LayerScratch& end) const;

  std::size_t expert_bytes() const { return mlp_->expert_bytes(); }

 private:
  void finish(Tensor in, const KvLayer& kv, LayerScratch& scratch) const;  // from q on
  void end_block(const Tensor& norm, LayerScratch& scratch) const;
  Tensor mlp_input(Tensor in, LayerScratch& scratch) const;

  std::unique_ptr<const AttentionBlock> attention_;
  std::unique_ptr<const Mlp> mlp_;
  Tensor after_attention_, before_mlp_, after_mlp_;  // norms; empty: there is none
  StreamNorm norm_;
  std::optional<LayerInput> input_;
  float residual_scale_;
  float scale_ = 1;  // of the stream behind the layer
  bool is_parallel_;
};

}  // namespace foretoken
