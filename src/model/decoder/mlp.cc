#include "model/decoder/mlp.h"

#include "model/decoder/dense_and_experts.h"
#include "model/decoder/expert_mlp.h"
#include "model/decoder/gated_mlp.h"

namespace foretoken {

std::unique_ptr<const Mlp> make_mlp(WeightReader& read, const ModelConfig& config,
                                    const std::string& prefix, int layer) {
  if (config.experts.are_in(layer) && config.experts.beside.is_on())
    return std::make_unique<DenseAndExperts>(read, config, prefix, layer);
  if (config.experts.are_in(layer)) return std::make_unique<ExpertMlp>(read, config, prefix);
  return std::make_unique<GatedMlp>(
      read, config,
      GatedMlp::Place{.prefix = prefix + "mlp.", .width = config.intermediate_of(layer)});
}

}  // namespace foretoken
