#pragma once
// GatedMlp: down(act(gate(x)) * up(x)). Immutable after construction.

#include <memory>
#include <string>

#include "model/decoder/mlp.h"

namespace foretoken {

class GatedMlp final : public Mlp {
 public:
  // Which tensors: the prefix of their names, with the dot, and the width between them.
  struct Place {
    std::string prefix;
    std::int64_t width;
  };
  GatedMlp(WeightReader& read, const ModelConfig& config, const Place& place);

  void forward(StepOps& ops, Tensor in, Tensor stream, Tensor out) const override;

 private:
  std::unique_ptr<PackedLinear> gate_up_;  // gate | up
  std::unique_ptr<PackedLinear> down_;
  Activation act_;
};

}  // namespace foretoken
