#include "model/config/expert_fields.h"
#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {
namespace {

constexpr auto kGlm4MoeFeatures = expert_features_and("partial_rotary_factor");

Blocks read_glm4_moe(const FileFields& fields, const ModelConfig& sizes) {
  ExpertBlocks experts = read_experts(
      fields,
      {.absent_count = 128, .absent_chosen = 8, .absent_width = 1408, .absent_normalises = true});
  experts.routing.score = RouterScore::kSigmoid;
  experts.routing.group_tops = 2;
  read_groups(fields, experts.routing);
  experts.layers = upper_layers(fields, sizes.layers, 1);
  experts.shared_intermediate = shared_width(fields, experts, 1);
  experts.has_score_bias = true;
  return {.qkv_bias = is_on(fields, "attention_bias"),
          .qk_norm = is_on(fields, "use_qk_norm"),
          .rotary_dim = rotary_dim(fields, sizes.head_dim, 0.5),
          .experts = experts};
}

}  // namespace

extern const Family glm4_moe{.architecture = "Glm4MoeForCausalLM",
                             .model_type = "glm4_moe",
                             .absent = {.kv_heads = 8, .max_position = 131072, .rms_eps = 1e-5},
                             .features = kGlm4MoeFeatures,
                             .read = read_glm4_moe};

}  // namespace foretoken::family
