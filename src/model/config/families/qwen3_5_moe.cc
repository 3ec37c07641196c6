#include "model/config/delta_fields.h"
#include "model/config/expert_fields.h"
#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {
namespace {

Blocks read_qwen3_5_moe(const FileFields& fields, const ModelConfig& sizes) {
  Blocks blocks = read_delta_blocks(fields, sizes);
  blocks.experts =
      read_experts(fields, {.absent_count = 256, .absent_chosen = 8, .absent_width = 512});
  if (blocks.experts.routing.experts == 0) fields.refuse("num_experts", "at least 1");
  blocks.experts.routing.normalises = true;
  blocks.experts.stacks = ExpertStacks::kRows;
  read_gated_shared(fields, blocks.experts, sizes.layers);
  return blocks;
}

}  // namespace

extern const Family qwen3_5_moe{.architecture = "Qwen3_5MoeForCausalLM",
                                .model_type = "qwen3_5_moe_text",
                                .absent = {.heads = 16,
                                           .intermediate = 512,
                                           .vocab = 248320,
                                           .kv_heads = 2,
                                           .head_dim = 256,
                                           .max_position = 32768},
                                .features = kDeltaExpertFeatures,
                                .read = read_qwen3_5_moe,
                                .has_states = true};

extern const Family qwen3_5_moe_towers{.architecture = "Qwen3_5MoeForConditionalGeneration",
                                       .model_type = "qwen3_5_moe",
                                       .text_type = "qwen3_5_moe_text"};

}  // namespace foretoken::family
