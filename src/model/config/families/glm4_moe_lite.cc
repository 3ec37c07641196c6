#include "base/index.h"
#include "model/config/expert_fields.h"
#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {
namespace {

// All but the first, where the config does not say.
std::vector<bool> layers_with_experts(const FileFields& fields, int layers) {
  const auto types = fields.strings("mlp_layer_types");
  if (!types && fields.integer("first_k_dense_replace").value_or(1) != 1)
    fields.refuse("first_k_dense_replace", "1 (others are named by mlp_layer_types)");
  if (types && types->size() != at(layers))
    fields.refuse("mlp_layer_types", std::to_string(layers) + " entries");
  std::vector<bool> found;
  for (int layer = 0; layer < layers; ++layer) {
    if (types && (*types)[at(layer)] != "dense" && (*types)[at(layer)] != "sparse")
      fields.refuse("mlp_layer_types", "dense or sparse");
    found.push_back(types ? (*types)[at(layer)] == "sparse" : layer > 0);
  }
  return found;
}

Blocks read_glm4_moe_lite(const FileFields& fields, const ModelConfig& sizes) {
  ExpertBlocks experts = read_experts(
      fields,
      {.absent_count = 64, .absent_chosen = 4, .absent_width = 1536, .absent_normalises = true});
  experts.layers = layers_with_experts(fields, sizes.layers);
  experts.shared_intermediate = shared_width(fields, experts, 1);
  experts.has_score_bias = true;
  experts.routing.score = RouterScore::kSigmoid;
  experts.routing.scale = 1.8F;
  experts.routing.group_tops = 2;
  read_groups(fields, experts.routing);
  Blocks blocks = latent_layers(
      fields, sizes,
      {.kv_rank = 512, .q_rank = 768, .key_dim = 192, .rope_dim = 64, .value_dim = 256});
  blocks.experts = experts;
  return blocks;
}

}  // namespace

extern const Family glm4_moe_lite{
    .architecture = "Glm4MoeLiteForCausalLM",
    .model_type = "glm4_moe_lite",
    .absent = {.kv_heads = 20, .head_dim = 64, .max_position = 202752, .rms_eps = 1e-5},
    .features = kLatentExpertFeatures,
    .read = read_glm4_moe_lite};

}  // namespace foretoken::family
