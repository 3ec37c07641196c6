#include "model/config/expert_fields.h"
#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {
namespace {

// Every other layer slides, below a number.
std::vector<int> windows(const FileFields& fields, int layers) {
  if (!is_on(fields, "use_sliding_window")) return {};
  const std::int64_t end = fields.integer("max_window_layers").value_or(28);
  return sliding_windows(fields, layers, [=](int layer) { return layer % 2 == 0 && layer < end; });
}

Blocks read_qwen2_moe(const FileFields& fields, const ModelConfig& sizes) {
  ExpertBlocks experts =
      read_experts(fields, {.absent_count = 60, .absent_chosen = 4, .absent_width = 1408});
  experts.layers = sparse_layers(fields, sizes.layers);
  experts.shared_intermediate = static_cast<int>(
      fields.integer("shared_expert_intermediate_size", {1, 1 << 20}).value_or(5632));
  experts.is_shared_gated = true;
  experts.names.shared = "shared_expert.";
  return {.qkv_bias = fields.boolean("qkv_bias").value_or(true),
          .layer_window = windows(fields, sizes.layers),
          .experts = experts};
}

}  // namespace

extern const Family qwen2_moe{.architecture = "Qwen2MoeForCausalLM",
                              .model_type = "qwen2_moe",
                              .absent = {.kv_heads = 16, .max_position = 32768},
                              .features = kExpertFeatures,
                              .read = read_qwen2_moe};

}  // namespace foretoken::family
