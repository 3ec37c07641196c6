#include <string>

#include "model/config/expert_fields.h"
#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {
namespace {

constexpr LatentBlocks kDeepseekAbsent{
    .kv_rank = 512, .q_rank = 1536, .key_dim = 128, .rope_dim = 64, .value_dim = 128};

// A key that says what the family does anyway.
void expect_text(const FileFields& fields, std::string_view key, std::string_view usual) {
  if (fields.string(key).value_or(std::string(usual)) != usual)
    fields.refuse(key, std::string(usual));
}

// From first_k_dense_replace on every layer.
void check_layers(const FileFields& fields) {
  if (fields.integer("moe_layer_freq").value_or(1) != 1) fields.refuse("moe_layer_freq", "1");
}

// Scores by softmax, of which the chosen are not normalised; the best group has the best expert.
ExpertBlocks experts_v2(const FileFields& fields, const ModelConfig& sizes) {
  ExpertBlocks experts = read_experts(fields, {.absent_count = 64, .absent_width = 1407});
  if (experts.routing.experts == 0) return experts;
  experts.layers = upper_layers(fields, sizes.layers, 0);
  experts.shared_intermediate = shared_width(fields, experts, 2);
  if (experts.routing.chosen == 0 && experts.layers.back())
    fields.refuse_missing("num_experts_per_tok");
  check_layers(fields);
  expect_text(fields, "scoring_func", "softmax");
  if (experts.routing.normalises) fields.refuse("norm_topk_prob", "false");
  const std::string method = fields.string("topk_method").value_or("greedy");
  if (method != "greedy" && method != "group_limited_greedy")
    fields.refuse("topk_method", "greedy or group_limited_greedy");
  read_groups(fields, experts.routing);
  if (method == "greedy") experts.routing.groups = experts.routing.kept_groups = 1;
  return experts;
}

// Scores by a logistic, with a bias that chooses; the best group has the best two experts.
ExpertBlocks experts_v3(const FileFields& fields, const ModelConfig& sizes) {
  ExpertBlocks experts = read_experts(
      fields,
      {.absent_count = 256, .absent_chosen = 8, .absent_width = 2048, .absent_normalises = true});
  if (experts.routing.experts == 0) return experts;
  experts.layers = upper_layers(fields, sizes.layers, 3);
  experts.shared_intermediate = shared_width(fields, experts, 1);
  check_layers(fields);
  expect_text(fields, "scoring_func", "sigmoid");
  expect_text(fields, "topk_method", "noaux_tc");
  experts.has_score_bias = true;
  experts.routing.score = RouterScore::kSigmoid;
  experts.routing.scale = 2.5F;
  experts.routing.groups = 8;
  experts.routing.kept_groups = 4;
  experts.routing.group_tops = 2;
  read_groups(fields, experts.routing);
  return experts;
}

Blocks read_v2(const FileFields& fields, const ModelConfig& sizes) {
  Blocks blocks = latent_layers(fields, sizes, kDeepseekAbsent);
  blocks.latent.pairs_neighbours = true;
  blocks.mlp_bias = is_on(fields, "mlp_bias");
  blocks.experts = experts_v2(fields, sizes);
  return blocks;
}

Blocks read_v3(const FileFields& fields, const ModelConfig& sizes) {
  Blocks blocks = latent_layers(fields, sizes, kDeepseekAbsent);
  const int rotated = blocks.latent.rope_dim;
  if (fields.has("head_dim") && sizes.head_dim != rotated)
    fields.refuse("head_dim", std::to_string(rotated) + ", which qk_rope_head_dim says");
  blocks.experts = experts_v3(fields, sizes);
  return blocks;
}

}  // namespace

extern const Family deepseek_v2{.architecture = "DeepseekV2ForCausalLM",
                                .model_type = "deepseek_v2",
                                .absent = {.head_dim = 64},
                                .features = kLatentExpertFeatures,
                                .read = read_v2};

extern const Family deepseek_v3{.architecture = "DeepseekV3ForCausalLM",
                                .model_type = "deepseek_v3",
                                .absent = {.kv_heads = 128, .head_dim = 64, .max_position = 4096},
                                .features = kLatentExpertFeatures,
                                .read = read_v3};

}  // namespace foretoken::family
