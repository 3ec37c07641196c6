#pragma once
// DecoderLayer: weights and computation of one layer of a dense decoder: attention and gated MLP,
// each added to the stream of residuals. Decoders are stacks of them, draft heads one or a few. The
// norm in front is the caller's, because heads join what they read in ways of their own. Immutable
// after construction.

#include <memory>
#include <string>
#include <vector>

#include "backend/ops/step_ops.h"
#include "batch/batch_tail.h"
#include "model/config/model_config.h"
#include "model/decoder/weight_reader.h"

namespace foretoken {

// What the layers of one forward share: the tensors that every layer writes anew (float32, one row
// per row of the batch), and how the batch attends, worked out once for each shape of theirs.
struct LayerScratch {
  LayerScratch(StepOps& ops, const ModelConfig& config, const Batch& batch);

  const AttentionPlan& plan(const AttentionShape& shape);

  StepOps& ops;
  const Batch& batch;
  std::vector<const AttentionPlan*> plans;
  Tensor residual;  // [rows, hidden], the stream between layers without the pending `delta`
  Tensor normed;    // [rows, hidden]
  Tensor delta;     // [rows, hidden], what a block adds to the residual
  Tensor q;         // [rows, heads * head_dim]
};

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

  std::unique_ptr<PackedLinear> qkv_;  // q | k | v
  QkNorm qk_norm_;
  std::unique_ptr<PackedLinear> o_;
  Tensor post_attention_norm_;
  std::unique_ptr<PackedLinear> gate_up_;  // gate | up
  std::unique_ptr<PackedLinear> down_;
  AttentionShape attention_;
  float eps_;
};

}  // namespace foretoken
