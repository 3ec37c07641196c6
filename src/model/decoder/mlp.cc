#include "model/decoder/mlp.h"

namespace foretoken {

Mlp::Mlp(WeightReader& read, const ModelConfig& config, const std::string& prefix) {
  const std::string name = prefix + "mlp.";
  gate_up_ = read.linear(
      {{name + "gate_proj", config.intermediate}, {name + "up_proj", config.intermediate}},
      config.hidden, bias_if(config.mlp_bias));
  down_ = read.linear({{name + "down_proj", config.hidden}}, config.intermediate,
                      bias_if(config.mlp_bias));
}

void Mlp::forward(StepOps& ops, Tensor in, Tensor out) const {
  ops.gated_mlp(*gate_up_, *down_, in, out);
}

}  // namespace foretoken
