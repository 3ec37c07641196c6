#include "model/decoder/gated_mlp.h"

#include <vector>

namespace foretoken {

GatedMlp::GatedMlp(WeightReader& read, const ModelConfig& config, const Place& place)
    : act_(config.activation) {
  const auto& [name, width] = place;
  std::vector<MatrixPart> parts{{name + "gate_proj", width}, {name + "up_proj", width}};
  if (config.is_gate_up_fused) parts = parts_of_fused(name + "gate_up_proj", {width, width});
  gate_up_ = read.linear(parts, config.hidden, bias_if(config.mlp_bias));
  down_ = read.linear({{name + "down_proj", config.hidden}}, width, bias_if(config.mlp_bias));
}

void GatedMlp::forward(StepOps& ops, Tensor in, Tensor, Tensor out) const {
  ops.gated_mlp(*gate_up_, *down_, act_, in, out);
}

}  // namespace foretoken
