// Configs of models with latent attention: what absent keys mean, and every key by which a config
// can ask for a computation that there is not.

#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "checkpoint/testing/test_files.h"
#include "model/config/model_config.h"

namespace foretoken::latent_config_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ModelConfig parse(const std::string& architecture, const std::string& changes = "{}") {
  boost::json::object config{{"architectures", {architecture}}, {"hidden_size", 64},
                             {"intermediate_size", 96},         {"num_hidden_layers", 4},
                             {"num_attention_heads", 4},        {"vocab_size", 100},
                             {"num_key_value_heads", 4},        {"num_experts_per_tok", 2}};
  const boost::json::value merged = boost::json::parse(changes);
  for (const auto& [key, value] : merged.as_object()) config[key] = value;
  return ModelConfig::parse(boost::json::serialize(config), "config.json");
}

constexpr const char *kV2 = "DeepseekV2ForCausalLM", *kV3 = "DeepseekV3ForCausalLM",
                     *kLite = "Glm4MoeLiteForCausalLM";

TEST(LatentConfig, absent_keys_take_the_defaults_of_the_architecture) {
  const ModelConfig v2 = parse(kV2);
  EXPECT_EQ(v2.latent.kv_rank, 512);
  EXPECT_EQ(v2.latent.q_rank, 1536);
  EXPECT_EQ(v2.latent.key_dim, 128);
  EXPECT_EQ(v2.latent.rope_dim, 64);
  EXPECT_EQ(v2.latent.value_dim, 128);
  EXPECT_TRUE(v2.latent.pairs_neighbours);
  EXPECT_EQ(v2.rms_eps, 1e-6F);
  EXPECT_EQ(v2.experts.routing.experts, 64);
  EXPECT_EQ(v2.experts.routing.score, RouterScore::kSoftmax);
  EXPECT_FALSE(v2.experts.routing.normalises || v2.experts.has_score_bias);
  EXPECT_THAT(v2.experts.layers, ElementsAre(true, true, true, true));
  EXPECT_EQ(v2.experts.shared_intermediate, 2 * 1407);

  const ModelConfig v3 = parse(kV3);
  EXPECT_EQ(v3.latent.q_rank, 1536);
  EXPECT_TRUE(v3.latent.pairs_neighbours);
  EXPECT_THAT(v3.experts.layers, ElementsAre(false, false, false, true));
  EXPECT_EQ(v3.experts.routing.experts, 256);
  EXPECT_EQ(v3.experts.routing.groups, 8);
  EXPECT_EQ(v3.experts.routing.kept_groups, 4);
  EXPECT_EQ(v3.experts.routing.group_tops, 2);
  EXPECT_EQ(v3.experts.routing.scale, 2.5F);
  EXPECT_EQ(v3.experts.routing.score, RouterScore::kSigmoid);
  EXPECT_TRUE(v3.experts.routing.normalises && v3.experts.has_score_bias);

  const ModelConfig lite = parse(kLite);
  EXPECT_EQ(lite.latent.q_rank, 768);
  EXPECT_EQ(lite.latent.key_dim, 192);
  EXPECT_EQ(lite.latent.value_dim, 256);
  EXPECT_EQ(lite.rms_eps, 1e-5F);
  EXPECT_THAT(lite.experts.layers, ElementsAre(false, true, true, true));
  EXPECT_EQ(lite.experts.routing.scale, 1.8F);
}

// One KV head of latent and rotated part, whatever "head_dim" says.
TEST(LatentConfig, what_is_kept_of_a_token_is_one_head) {
  const ModelConfig config =
      parse(kV2, R"({"kv_lora_rank":48,"qk_rope_head_dim":16,"head_dim":16,"q_lora_rank":null})");
  EXPECT_EQ(config.kv_heads, 1);
  EXPECT_EQ(config.head_dim, 64);
  EXPECT_EQ(config.rotated(), 16);
  EXPECT_EQ(config.latent.q_rank, 0);
}

// Norms of latents have an epsilon of their own.
TEST(LatentConfig, the_epsilon_of_latents_is_not_that_of_layers) {
  EXPECT_EQ(parse(kV3, R"({"rms_norm_eps":1e-3})").latent.norm_eps, 1e-6F);
}

TEST(LatentConfig, layers_with_experts_are_those_that_the_config_names) {
  EXPECT_THAT(parse(kV2, R"({"first_k_dense_replace":2})").experts.layers,
              ElementsAre(false, false, true, true));
  EXPECT_THAT(parse(kLite, R"({"mlp_layer_types":["sparse","dense","sparse","dense"],
                       "first_k_dense_replace":0})")
                  .experts.layers,
              ElementsAre(true, false, true, false));
}

TEST(LatentConfig, groups_count_where_the_method_is_limited_by_them) {
  const std::string groups = R"("n_group":8,"topk_group":2})";
  EXPECT_EQ(parse(kV2, "{" + groups).experts.routing.groups, 1);
  const ModelConfig limited = parse(kV2, R"({"topk_method":"group_limited_greedy",)" + groups);
  EXPECT_EQ(limited.experts.routing.groups, 8);
  EXPECT_EQ(limited.experts.routing.kept_groups, 2);
  EXPECT_EQ(limited.experts.routing.group_tops, 1);
}

TEST(LatentConfig, what_is_not_computed_is_refused_by_name) {
  const auto fault_of = [](const char* architecture, const std::string& changes) {
    return error_of([&] { parse(architecture, changes); });
  };
  for (const char* architecture : {kV2, kV3, kLite})
    for (const auto& [changes, key] :
         {std::pair{R"({"num_key_value_heads":2})", "num_key_value_heads"},
          std::pair{R"({"kv_lora_rank":31})", "kv_lora_rank"},
          std::pair{R"({"kv_lora_rank":0})", "kv_lora_rank"},
          std::pair{R"({"qk_rope_head_dim":7})", "qk_rope_head_dim"},
          std::pair{R"({"qk_nope_head_dim":-1})", "qk_nope_head_dim"},
          std::pair{R"({"v_head_dim":"x"})", "v_head_dim"},
          std::pair{R"({"q_lora_rank":0})", "q_lora_rank"},
          std::pair{R"({"partial_rotary_factor":0.5})", "partial_rotary_factor"},
          std::pair{R"({"rope_parameters":{"partial_rotary_factor":0.5}})",
                    "partial_rotary_factor"},
          std::pair{R"({"hidden_act":"relu"})", "hidden_act"},
          std::pair{R"({"num_experts_per_tok":0})", "num_experts_per_tok"},
          std::pair{R"({"attention_sinks":true})", "attention sinks"}})
      EXPECT_THAT(fault_of(architecture, changes), HasSubstr(key)) << architecture;
  EXPECT_THAT(fault_of(kV2, R"({"norm_topk_prob":true})"), HasSubstr("norm_topk_prob"));
  EXPECT_THAT(fault_of(kV3, R"({"head_dim":32})"),
              HasSubstr("expected 64, which qk_rope_head_dim"));
  EXPECT_THAT(fault_of(kV2, R"({"topk_method":"noaux_tc"})"), HasSubstr("topk_method"));
  EXPECT_THAT(fault_of(kV2, R"({"scoring_func":"sigmoid"})"), HasSubstr("scoring_func"));
  EXPECT_THAT(fault_of(kV2, R"({"moe_layer_freq":2})"), HasSubstr("moe_layer_freq"));
  EXPECT_THAT(fault_of(kV3, R"({"topk_method":"greedy"})"), HasSubstr("topk_method"));
  EXPECT_THAT(fault_of(kV3, R"({"scoring_func":"softmax"})"), HasSubstr("scoring_func"));
  EXPECT_THAT(fault_of(kV3, R"({"moe_layer_freq":2})"), HasSubstr("moe_layer_freq"));
  EXPECT_THAT(fault_of(kV3, R"({"n_group":7})"), HasSubstr("n_group"));
  EXPECT_THAT(fault_of(kV3, R"({"topk_group":9})"), HasSubstr("topk_group"));
  EXPECT_THAT(fault_of(kLite, R"({"mlp_layer_types":["dense"]})"), HasSubstr("mlp_layer_types"));
  EXPECT_THAT(fault_of(kLite, R"({"mlp_layer_types":["dense","dense","linear","dense"]})"),
              HasSubstr("mlp_layer_types"));
  for (const char* dense : {"0", "2"})
    EXPECT_THAT(fault_of(kLite, R"({"first_k_dense_replace":)" + std::string(dense) + "}"),
                HasSubstr("first_k_dense_replace"));
}

TEST(LatentConfig, other_families_have_none) {
  EXPECT_THAT(error_of([] {
                parse("LlamaForCausalLM", R"({"kv_lora_rank":512,"num_experts_per_tok":null})");
              }),
              HasSubstr("latent attention"));
}

}  // namespace
}  // namespace foretoken::latent_config_test
