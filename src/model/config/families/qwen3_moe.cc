#include "model/config/expert_fields.h"
#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {
namespace {

Blocks read_qwen3_moe(const FileFields& fields, const ModelConfig& sizes) {
  const bool bias = is_on(fields, "attention_bias");
  ExpertBlocks experts =
      read_experts(fields, {.absent_count = 128, .absent_chosen = 8, .absent_width = 768});
  experts.layers = sparse_layers(fields, sizes.layers);
  return {.qkv_bias = bias,
          .o_bias = bias,
          .qk_norm = true,
          .layer_window = is_on(fields, "use_sliding_window") ? equal_windows(fields, sizes.layers)
                                                              : std::vector<int>(),
          .experts = experts};
}

}  // namespace

extern const Family qwen3_moe{.architecture = "Qwen3MoeForCausalLM",
                              .model_type = "qwen3_moe",
                              .absent = {.kv_heads = 4, .max_position = 32768},
                              .features = kExpertFeatures,
                              .read = read_qwen3_moe};

}  // namespace foretoken::family
