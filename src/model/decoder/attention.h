#pragma once
// Attention: the block of a layer that looks at other positions: projections to queries, keys and
// values, rotation, KV store, attention and output projection. Norms around it are the layer's.
// Immutable after construction.

#include <memory>
#include <string>
#include <vector>

#include "backend/ops/step_ops.h"
#include "model/config/model_config.h"
#include "model/decoder/layer_scratch.h"
#include "model/decoder/rope.h"
#include "model/decoder/weight_reader.h"

namespace foretoken {

class Attention {
 public:
  // prefix: of the layer's tensors, with the dot. in_width: of what it reads. layer: whose window
  // and rotation it has. Throws Error naming the tensor that is missing or misshapen.
  Attention(WeightReader& read, const ModelConfig& config, const std::string& prefix,
            std::int64_t in_width, int layer);

  // scratch.q = the queries of `in` [rows, in_width]; stores keys and values.
  void project(Tensor in, const RopeTables& ropes, const KvLayer& kv, LayerScratch& scratch) const;

  // scratch.delta = what the block adds to the stream, of scratch.q.
  void attend(const KvLayer& kv, LayerScratch& scratch) const;

 private:
  std::vector<std::unique_ptr<PackedLinear>> qkv_;  // q | k | v, in one or in several stacks
  QkNorm qk_norm_;
  std::unique_ptr<PackedLinear> o_;
  AttentionShape shape_;
  Tensor sinks_;  // empty: there are none
  LayerRope rope_;
};

}  // namespace foretoken
