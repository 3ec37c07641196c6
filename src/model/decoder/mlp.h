#pragma once
// Mlp: the block of a layer that looks at one position. Norms around it are the layer's. Immutable
// after construction.

#include <memory>
#include <string>

#include "backend/ops/step_ops.h"
#include "model/config/model_config.h"
#include "model/decoder/weight_reader.h"

namespace foretoken {

class Mlp {
 public:
  virtual ~Mlp() = default;
  // All [rows, hidden]. in: the stream as the norm before the MLP leaves it, or as it is. What a norm
  // left may be overwritten.
  virtual void forward(StepOps& ops, Tensor in, Tensor stream, Tensor out) const = 0;
  // Bytes of all experts together; 0 where there are none.
  virtual std::size_t expert_bytes() const { return 0; }
};

// That of a layer: one gated MLP, a mixture of experts, or both. prefix: of the layer's tensors, with the
// dot. Throws Error naming the tensor that is missing or misshapen.
std::unique_ptr<const Mlp> make_mlp(WeightReader& read, const ModelConfig& config,
                                    const std::string& prefix, int layer);

}  // namespace foretoken
