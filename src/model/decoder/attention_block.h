#pragma once
// AttentionBlock: the block of a layer that looks at other positions. Norms around it are the
// layer's. Immutable after construction.

#include <cstdint>
#include <memory>
#include <string>

#include "backend/ops/step_ops.h"
#include "model/config/model_config.h"
#include "model/decoder/layer_scratch.h"
#include "model/decoder/rope.h"
#include "model/decoder/weight_reader.h"

namespace foretoken {

class AttentionBlock {
 public:
  virtual ~AttentionBlock() = default;

  // Of what project() leaves for attend(), row by row.
  virtual std::int64_t query_width() const = 0;

  // scratch.queries(query_width()) = the queries of `in` [rows, in_width]; stores keys and values,
  // or what a state needs.
  virtual void project(Tensor in, const RopeTables& ropes, const KvLayer& kv,
                       LayerScratch& scratch) const = 0;

  // scratch.delta = what the block adds to the stream, of these.
  virtual void attend(const KvLayer& kv, LayerScratch& scratch) const = 0;
};

// prefix: of the layer's tensors, with the dot. in_width: of what it reads. layer: whose window and
// rotation it has. Throws Error naming the tensor that is missing or misshapen.
std::unique_ptr<AttentionBlock> make_attention(WeightReader& read, const ModelConfig& config,
                                               const std::string& prefix, std::int64_t in_width,
                                               int layer);

}  // namespace foretoken
