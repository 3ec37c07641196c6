#pragma once
// Attention: the block of a layer that looks at other positions: projections to queries, keys and
// values, rotation, KV store, attention and output projection. Norms around it are the layer's.
// Immutable after construction.

#include <memory>
#include <string>

#include "backend/ops.h"
#include "model/config/model_config.h"
#include "model/decoder/layer_scratch.h"
#include "model/decoder/weight_reader.h"

namespace foretoken {

class Attention {
 public:
  // prefix: of the layer's tensors, with the dot. in_width: of what it reads. Throws Error naming
  // the tensor that is missing or misshapen.
  Attention(WeightReader& read, const ModelConfig& config, const std::string& prefix,
            std::int64_t in_width, int window);

  // scratch.q = the queries of `in` [rows, in_width]; stores keys and values.
  void project(Tensor in, const RopeTable& rope, const KvLayer& kv, LayerScratch& scratch) const;

  // scratch.delta = what the block adds to the stream, of scratch.q.
  void attend(const KvLayer& kv, LayerScratch& scratch) const;

 private:
  std::unique_ptr<PackedLinear> qkv_;  // q | k | v
  QkNorm qk_norm_;
  std::unique_ptr<PackedLinear> o_;
  AttentionShape shape_;
};

}  // namespace foretoken
