#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {
namespace {

constexpr std::string_view kGlm4Features[] = {"partial_rotary_factor"};

// Half of each head is rotated, by pairs of neighbours.
Blocks read_glm4(const FileFields& fields, const ModelConfig& sizes) {
  return {
      .qkv_bias = fields.boolean("attention_bias").value_or(true),
      .rotary_dim = rotary_dim(fields, sizes.head_dim, 0.5),
      .pairs_neighbours = true,
      .is_gate_up_fused = true,
      .norms = {.after_attention = "post_self_attn_layernorm", .after_mlp = "post_mlp_layernorm"}};
}

}  // namespace

extern const Family glm4{
    .architecture = "Glm4ForCausalLM",
    .model_type = "glm4",
    .absent = {.kv_heads = 2, .head_dim = 128, .max_position = 131072, .rms_eps = 1.5625e-7},
    .features = kGlm4Features,
    .read = read_glm4};

}  // namespace foretoken::family
