// What config.json says of experts, family by family, and what is refused.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "checkpoint/testing/test_files.h"
#include "model/config/model_config.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ModelConfig parse(const std::string& architecture, const std::string& changes = "{}") {
  const std::string sizes = R"({"architectures":[")" + architecture + R"("],
      "hidden_size":64,"intermediate_size":96,"num_hidden_layers":4,"num_attention_heads":4,
      "num_key_value_heads":2,"vocab_size":100})";
  return ModelConfig::parse(sizes, "config.json", changes);
}

std::string fault(const std::string& architecture, const std::string& changes) {
  return error_of([&] { parse(architecture, changes); });
}

TEST(ExpertFields, absent_keys_mean_what_transformers_says) {
  const ExpertBlocks qwen3 = parse("Qwen3MoeForCausalLM").experts;
  EXPECT_EQ(qwen3.routing.experts, 128);
  EXPECT_EQ(qwen3.routing.chosen, 8);
  EXPECT_EQ(qwen3.intermediate, 768);
  EXPECT_FALSE(qwen3.routing.normalises);
  EXPECT_EQ(qwen3.shared_intermediate, 0);
  const ExpertBlocks qwen2 = parse("Qwen2MoeForCausalLM").experts;
  EXPECT_EQ(qwen2.routing.experts, 60);
  EXPECT_EQ(qwen2.routing.chosen, 4);
  EXPECT_EQ(qwen2.intermediate, 1408);
  EXPECT_EQ(qwen2.shared_intermediate, 5632);
  EXPECT_TRUE(qwen2.is_shared_gated);
  EXPECT_TRUE(parse("Qwen2MoeForCausalLM").qkv_bias);
  const ExpertBlocks mixtral = parse("MixtralForCausalLM").experts;
  EXPECT_EQ(mixtral.routing.experts, 8);
  EXPECT_EQ(mixtral.routing.chosen, 2);
  EXPECT_EQ(mixtral.intermediate, 96);
  EXPECT_TRUE(mixtral.routing.normalises);
  const ExpertBlocks olmoe = parse("OlmoeForCausalLM").experts;
  EXPECT_EQ(olmoe.routing.experts, 64);
  EXPECT_EQ(olmoe.routing.chosen, 8);
  EXPECT_EQ(olmoe.intermediate, 96);
  const ModelConfig glm = parse("Glm4MoeForCausalLM");
  EXPECT_EQ(glm.experts.routing.experts, 128);
  EXPECT_EQ(glm.experts.routing.score, RouterScore::kSigmoid);
  EXPECT_TRUE(glm.experts.routing.normalises);
  EXPECT_EQ(glm.experts.shared_intermediate, 1408);
  EXPECT_THAT(glm.experts.layers, ElementsAre(false, true, true, true));
  EXPECT_EQ(glm.rotary_dim, 8);
  EXPECT_FALSE(glm.qk_norm);
}

TEST(ExpertFields, llama4_says_little_of_its_layers) {
  const ModelConfig usual = parse("Llama4ForCausalLM");
  constexpr LayerRope kMain = LayerRope::kMain;
  EXPECT_THAT(usual.layer_rope, ElementsAre(kMain, kMain, kMain, LayerRope::kNone));
  EXPECT_THAT(usual.layer_chunk, ElementsAre(8192, 8192, 8192, 0));
  EXPECT_THAT(usual.experts.layers, ElementsAre(true, true, true, true));
  EXPECT_EQ(usual.experts.routing.experts, 16);
  EXPECT_EQ(usual.experts.intermediate, 96);
  EXPECT_EQ(usual.experts.shared_intermediate, 96);
  EXPECT_EQ(usual.intermediate, 16384);
  EXPECT_EQ(usual.head_dim, 128);
  EXPECT_EQ(usual.rope_theta, 500000.0);
  EXPECT_TRUE(usual.norms_rotated);
  EXPECT_EQ(usual.score_growth, 0.1);
  EXPECT_EQ(usual.score_growth_length, 8192);
  const ModelConfig other =
      parse("Llama4ForCausalLM",
            R"({"no_rope_layers":[0,1,1,1],"moe_layers":[2],"attention_chunk_size":null,
          "attn_temperature_tuning":0,"use_qk_norm":false,"intermediate_size_mlp":40})");
  EXPECT_THAT(other.layer_chunk, ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(other.experts.layers, ElementsAre(false, false, true, false));
  EXPECT_EQ(other.score_growth, 0.0);
  EXPECT_EQ(other.intermediate, 40);
  EXPECT_FALSE(other.norms_rotated);
  EXPECT_EQ(parse("Llama4ForCausalLM", R"({"attn_temperature_tuning":4})").score_growth, 0.1);
  EXPECT_THAT(parse("Llama4ForCausalLM", R"({"interleave_moe_layer_step":2})").experts.layers,
              ElementsAre(false, true, false, true));
}

TEST(ExpertFields, what_llama4_does_not_compute_is_refused_by_name) {
  const auto refused = [](const std::string& changes) {
    return fault("Llama4ForCausalLM", changes);
  };
  EXPECT_THAT(refused(R"({"num_experts_per_tok":2})"), HasSubstr("\"num_experts_per_tok\""));
  EXPECT_THAT(refused(R"({"moe_layers":[4]})"), HasSubstr("\"moe_layers\""));
  EXPECT_THAT(refused(R"({"hidden_act":"gelu"})"), HasSubstr("\"hidden_act\""));
  EXPECT_THAT(refused(R"({"attn_scale":-1})"), HasSubstr("\"attn_scale\""));
  EXPECT_THAT(refused(R"({"layer_types":["sliding_attention"]})"),
              HasSubstr("full_attention or chunked_attention"));
  EXPECT_THAT(refused(R"({"layer_types":["chunked_attention"]})"), HasSubstr("4 entries"));
  EXPECT_THAT(refused(R"({"attention_chunk_size":null,"layer_types":["chunked_attention",
      "full_attention","full_attention","full_attention"]})"),
              HasSubstr("\"attention_chunk_size\""));
  const std::string yarn = R"("rope_type":"yarn","factor":4,"original_max_position_embeddings":64)";
  EXPECT_THAT(refused("{\"rope_scaling\":{" + yarn + "}}"), HasSubstr("\"attention_factor\""));
  for (const std::string& served : {"{\"rope_scaling\":{" + yarn + ",\"attention_factor\":1}}",
                                    "{\"use_qk_norm\":false,\"rope_scaling\":{" + yarn + "}}"})
    EXPECT_EQ(refused(served), "");
}

TEST(ExpertFields, the_number_of_experts_has_three_names) {
  for (const char* key : {"num_experts", "num_local_experts", "n_routed_experts"})
    EXPECT_EQ(
        parse("Qwen3MoeForCausalLM", "{\"" + std::string(key) + "\":9}").experts.routing.experts,
        9);
  EXPECT_THAT(fault("Qwen3MoeForCausalLM", R"({"num_experts":9,"num_local_experts":10})"),
              HasSubstr("\"num_local_experts\" (config.json): expected 9, which another key says"));
}

TEST(ExpertFields, some_layers_are_dense) {
  const auto layers = [](const std::string& changes) {
    return parse("Qwen3MoeForCausalLM", changes).experts.layers;
  };
  EXPECT_THAT(layers("{}"), ElementsAre(true, true, true, true));
  EXPECT_THAT(layers(R"({"decoder_sparse_step":2})"), ElementsAre(false, true, false, true));
  EXPECT_THAT(layers(R"({"mlp_only_layers":[0,3,9]})"), ElementsAre(false, true, true, false));
  EXPECT_FALSE(parse("Qwen3MoeForCausalLM", R"({"num_experts":0})").experts.are_in(1));
  EXPECT_THAT(parse("Glm4MoeForCausalLM", R"({"first_k_dense_replace":3})").experts.layers,
              ElementsAre(false, false, false, true));
}

TEST(ExpertFields, what_cannot_be_chosen_is_refused) {
  EXPECT_THAT(fault("Qwen3MoeForCausalLM", R"({"num_experts":4,"num_experts_per_tok":5})"),
              HasSubstr("\"num_experts_per_tok\" (config.json): expected at most the 4 experts"));
  EXPECT_THAT(fault("Qwen3MoeForCausalLM", R"({"num_experts_per_tok":0})"),
              HasSubstr("num_experts_per_tok"));
  EXPECT_THAT(fault("Qwen3MoeForCausalLM", R"({"decoder_sparse_step":0})"),
              HasSubstr("decoder_sparse_step"));
  EXPECT_THAT(fault("Qwen3MoeForCausalLM", R"({"moe_intermediate_size":0})"),
              HasSubstr("moe_intermediate_size"));
  EXPECT_THAT(fault("MixtralForCausalLM", R"({"num_local_experts":0})"),
              HasSubstr("num_local_experts"));
  EXPECT_THAT(fault("Glm4MoeForCausalLM", R"({"n_group":3})"), HasSubstr("a divisor of 128"));
  EXPECT_THAT(fault("Glm4MoeForCausalLM", R"({"n_group":4,"topk_group":5})"),
              HasSubstr("at most the 4 of n_group"));
  EXPECT_THAT(
      fault("Glm4MoeForCausalLM", R"({"n_group":32,"topk_group":1,"num_experts_per_tok":5})"),
      HasSubstr("at most the 4 experts of the groups"));
  EXPECT_THAT(fault("Glm4MoeForCausalLM", R"({"n_group":128,"topk_group":8})"),
              HasSubstr("groups of at least 2"));
  EXPECT_THAT(fault("Glm4MoeForCausalLM", R"({"topk_group":0})"), HasSubstr("topk_group"));
  EXPECT_THAT(fault("Glm4MoeForCausalLM", R"({"n_group":0})"), HasSubstr("n_group"));
  EXPECT_THAT(fault("Glm4MoeForCausalLM", R"({"n_shared_experts":10000})"),
              HasSubstr("n_shared_experts"));
  EXPECT_THAT(fault("Glm4MoeForCausalLM", R"({"routed_scaling_factor":0})"),
              HasSubstr("routed_scaling_factor"));
}

TEST(ExpertFields, what_is_not_computed_is_refused) {
  EXPECT_THAT(fault("OlmoeForCausalLM", R"({"clip_qkv":8.0})"), HasSubstr("clip_qkv"));
  for (const char* architecture : {"MixtralForCausalLM", "Qwen2MoeForCausalLM",
                                   "Qwen3MoeForCausalLM", "OlmoeForCausalLM", "Glm4MoeForCausalLM"})
    EXPECT_THAT(fault(architecture, R"({"hidden_act":"gelu"})"), HasSubstr("hidden_act"));
  EXPECT_THAT(fault("Qwen3MoeForCausalLM", R"({"partial_rotary_factor":0.5})"),
              HasSubstr("partial rotary"));
}

}  // namespace
}  // namespace foretoken
