#include "model/config/expert_fields.h"
#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {
namespace {

Blocks read_olmoe(const FileFields& fields, const ModelConfig&) {
  const bool bias = is_on(fields, "attention_bias");
  return {.qkv_bias = bias,
          .o_bias = bias,
          .whole_qk_norm = true,
          .experts = read_experts(
              fields, {.width = "intermediate_size", .absent_count = 64, .absent_chosen = 8})};
}

}  // namespace

extern const Family olmoe{.architecture = "OlmoeForCausalLM",
                          .model_type = "olmoe",
                          .absent = {.max_position = 4096, .rms_eps = 1e-5},
                          .features = kExpertFeatures,
                          .read = read_olmoe};

}  // namespace foretoken::family
