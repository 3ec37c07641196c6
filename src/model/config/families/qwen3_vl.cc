#include "model/config/expert_fields.h"
#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {
namespace {

// A Qwen 3 with sections of positions, and without windows.
Blocks read_qwen3_vl(const FileFields& fields, const ModelConfig&) {
  const bool bias = is_on(fields, "attention_bias");
  return {.qkv_bias = bias, .o_bias = bias, .qk_norm = true, .has_rope_sections = true};
}

// Weights of experts are normalised, whatever "norm_topk_prob" says. Writers differ in how experts
// lie.
Blocks read_qwen3_vl_moe(const FileFields& fields, const ModelConfig& sizes) {
  Blocks blocks = read_qwen3_vl(fields, sizes);
  blocks.experts =
      read_experts(fields, {.absent_count = 60, .absent_chosen = 4, .absent_width = 1408});
  blocks.experts.routing.normalises = true;
  blocks.experts.layers = sparse_layers(fields, sizes.layers);
  blocks.experts.stacks = ExpertStacks::kColumnsOrRows;
  return blocks;
}

}  // namespace

extern const Family qwen3_vl{.architecture = "Qwen3VLForConditionalGeneration",
                             .model_type = "qwen3_vl",
                             .absent = {.heads = 32,
                                        .intermediate = 22016,
                                        .vocab = 151936,
                                        .kv_heads = 32,
                                        .head_dim = 128,
                                        .max_position = 128000,
                                        .rope_theta = 500000.0},
                             .read = read_qwen3_vl,
                             .text_type = "qwen3_vl_text"};

extern const Family qwen3_vl_moe{.architecture = "Qwen3VLMoeForConditionalGeneration",
                                 .model_type = "qwen3_vl_moe",
                                 .absent = {.heads = 16,
                                            .intermediate = 5632,
                                            .vocab = 151936,
                                            .kv_heads = 16,
                                            .max_position = 128000,
                                            .rope_theta = 500000.0},
                                 .features = kExpertFeatures,
                                 .read = read_qwen3_vl_moe,
                                 .text_type = "qwen3_vl_moe_text"};

}  // namespace foretoken::family
