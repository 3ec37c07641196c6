#pragma once
// Mlp: the block of a layer that looks at one position: down(act(gate(x)) * up(x)). Norms around it
// are the layer's. Immutable after construction.

#include <memory>
#include <string>

#include "backend/ops/step_ops.h"
#include "model/config/model_config.h"
#include "model/decoder/weight_reader.h"

namespace foretoken {

class Mlp {
 public:
  // prefix: of the layer's tensors, with the dot. Throws Error naming the tensor that is missing or
  // misshapen.
  Mlp(WeightReader& read, const ModelConfig& config, const std::string& prefix);

  // [rows, hidden] both.
  void forward(StepOps& ops, Tensor in, Tensor out) const;

 private:
  std::unique_ptr<PackedLinear> gate_up_;  // gate | up
  std::unique_ptr<PackedLinear> down_;
};

}  // namespace foretoken
