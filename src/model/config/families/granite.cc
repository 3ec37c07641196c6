#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {
namespace {

constexpr std::string_view kGraniteFeatures[] = {"embedding_multiplier", "residual_multiplier",
                                                 "attention_multiplier", "logits_scaling"};

Blocks read_granite(const FileFields& fields, const ModelConfig&) {
  const bool bias = is_on(fields, "attention_bias");
  return {.qkv_bias = bias,
          .o_bias = bias,
          .score_scale = factor(fields, "attention_multiplier", 1.0),
          .mlp_bias = is_on(fields, "mlp_bias"),
          .embedding_scale = factor(fields, "embedding_multiplier", 1.0),
          .residual_scale = static_cast<float>(factor(fields, "residual_multiplier", 1.0)),
          .logit_scale = static_cast<float>(1.0 / factor(fields, "logits_scaling", 1.0))};
}

}  // namespace

extern const Family granite{.architecture = "GraniteForCausalLM",
                            .model_type = "granite",
                            .absent = {.max_position = 2048},
                            .features = kGraniteFeatures,
                            .read = read_granite};

}  // namespace foretoken::family
