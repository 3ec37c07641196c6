#pragma once
// DecoderLayer: one layer of a dense decoder: attention and MLP with the norms between them, each
// added to the stream of residuals. Decoders are stacks of them, draft heads one or a few. The norm
// in front is the caller's, because heads join what they read in ways of their own. Immutable after
// construction.

#include <string>

#include "backend/ops/step_ops.h"
#include "batch/batch_tail.h"
#include "model/config/model_config.h"
#include "model/decoder/attention.h"
#include "model/decoder/layer_scratch.h"
#include "model/decoder/mlp.h"
#include "model/decoder/weight_reader.h"

namespace foretoken {

class DecoderLayer {
 public:
  // prefix: of the tensors' names, with the dot. in_width: of what attention reads. window: 0:
  // none. Throws Error naming the tensor that is missing or misshapen.
  DecoderLayer(WeightReader& read, const ModelConfig& config, const std::string& prefix,
               std::int64_t in_width, int window);

  // residual += attention(in); delta = mlp(norm(residual)), still to be added. in [rows, in_width].
  void forward(Tensor in, const RopeTable& rope, const KvLayer& kv, LayerScratch& scratch) const;

  // The same for the last layer of a batch whose other rows leave their keys and values only:
  // `end`, of the tail's batch, gets what its rows have in `scratch` elsewhere.
  void forward_tail(Tensor in, const RopeTable& rope, const KvLayer& kv, LayerScratch& scratch,
                    const BatchTail& tail, LayerScratch& end) const;

 private:
  void finish(const KvLayer& kv, LayerScratch& scratch) const;  // from q on

  Attention attention_;
  Tensor post_attention_norm_;
  Mlp mlp_;
  float eps_;
};

}  // namespace foretoken
