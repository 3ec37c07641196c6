// Configs of models whose layers partly keep a state: what absent keys mean, and every key by which
// a config can ask for a computation that there is not.

#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "model/config/model_config.h"

namespace foretoken::state_config_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ModelConfig parse(const std::string& architecture, const std::string& changes = "{}") {
  boost::json::object config{{"architectures", {architecture}}, {"hidden_size", 64},
                             {"intermediate_size", 96},         {"num_hidden_layers", 4},
                             {"num_attention_heads", 8},        {"vocab_size", 100}};
  const boost::json::value merged = boost::json::parse(changes);
  for (const auto& [key, value] : merged.as_object()) {
    if (value == "absent")
      config.erase(key);
    else
      config[key] = value;
  }
  return ModelConfig::parse(boost::json::serialize(config), "config.json");
}

std::string refusal(const std::string& architecture, const std::string& changes) {
  try {
    parse(architecture, changes);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

constexpr const char *kNext = "Qwen3NextForCausalLM", *kFive = "Qwen3_5ForCausalLM",
                     *kLfm = "Lfm2ForCausalLM", *kHybrid = "GraniteMoeHybridForCausalLM",
                     *kFiveMoe = "Qwen3_5MoeForCausalLM", *kLfmMoe = "Lfm2MoeForCausalLM";
const std::string kDense = R"("num_local_experts": 0, "num_experts_per_tok": 0)";

TEST(StateConfig, absent_keys_take_the_defaults_of_the_architecture) {
  const ModelConfig next = parse(kNext);
  EXPECT_THAT(next.recurrent.layers, ElementsAre(true, true, true, false));
  EXPECT_EQ(next.recurrent.shape.key_heads, 16);
  EXPECT_EQ(next.recurrent.shape.value_heads, 32);
  EXPECT_EQ(next.recurrent.shape.key_dim, 128);
  EXPECT_EQ(next.recurrent.shape.value_dim, 128);
  EXPECT_EQ(next.recurrent.shape.taps, 4);
  EXPECT_EQ(next.recurrent.shape.channels, 2 * 16 * 128 + 32 * 128);
  EXPECT_EQ(next.head_dim, 256);
  EXPECT_EQ(next.rotary_dim, 64);
  EXPECT_EQ(next.kv_heads, 2);
  EXPECT_EQ(next.experts.routing.experts, 512);
  EXPECT_EQ(next.experts.routing.chosen, 10);
  EXPECT_EQ(next.experts.shared_intermediate, 512);
  EXPECT_TRUE(next.experts.routing.normalises && next.experts.is_shared_gated);
  EXPECT_TRUE(next.has_output_gate && next.qk_norm);
  EXPECT_EQ(next.norm_offset, 1.0F);

  const ModelConfig five = parse(kFive);
  EXPECT_EQ(five.kv_heads, 4);
  EXPECT_EQ(five.experts.routing.experts, 0);

  const ModelConfig lfm = parse(kLfm, R"({"intermediate_size": "absent", "full_attn_idxs": [2]})");
  EXPECT_THAT(lfm.recurrent.layers, ElementsAre(true, true, false, true));
  EXPECT_EQ(lfm.intermediate, 8192);  // two thirds of 12288
  EXPECT_EQ(lfm.recurrent.shape.taps, 3);
  EXPECT_EQ(lfm.rms_eps, 1e-5F);
  EXPECT_EQ(lfm.rope_theta, 1e6);
  EXPECT_TRUE(lfm.tied_embeddings);

  const ModelConfig hybrid = parse(kHybrid, "{" + kDense + R"(, "mamba_n_heads": 8})");
  EXPECT_THAT(hybrid.recurrent.layers, ElementsAre(true, true, true, true));
  EXPECT_EQ(hybrid.intermediate, 1024);
  EXPECT_EQ(hybrid.recurrent.shape.key_dim, 256);
  EXPECT_EQ(hybrid.recurrent.shape.value_dim, 16);
  EXPECT_TRUE(hybrid.recurrent.has_taps_bias);
  EXPECT_FALSE(hybrid.recurrent.has_bias);
  EXPECT_THAT(hybrid.layer_rope, testing::Each(LayerRope::kNone));
}

TEST(StateConfig, experts_are_those_of_the_architecture) {
  const ModelConfig five = parse(kFiveMoe, R"({"intermediate_size": "absent"})");
  EXPECT_EQ(five.experts.routing.experts, 256);
  EXPECT_EQ(five.experts.routing.chosen, 8);
  EXPECT_EQ(five.experts.intermediate, 512);
  EXPECT_EQ(five.experts.shared_intermediate, 512);
  EXPECT_TRUE(five.experts.is_shared_gated && five.experts.routing.normalises);
  EXPECT_EQ(five.kv_heads, 2);

  const ModelConfig lfm = parse(kLfmMoe, R"({"num_dense_layers": 1, "routed_scaling_factor": 2.5,
                                             "layer_types": ["conv", "conv", "conv", "conv"]})");
  EXPECT_THAT(lfm.experts.layers, ElementsAre(false, true, true, true));
  EXPECT_EQ(lfm.experts.routing.experts, 32);
  EXPECT_EQ(lfm.experts.routing.score, RouterScore::kSigmoid);
  EXPECT_EQ(lfm.experts.routing.scale, 2.5F);
  EXPECT_TRUE(lfm.experts.has_score_bias && lfm.experts.routing.normalises);
  EXPECT_EQ(lfm.intermediate, 96);

  const ModelConfig hybrid = parse(kHybrid, R"({"mamba_n_heads": 8})");
  EXPECT_EQ(hybrid.experts.routing.experts, 8);
  EXPECT_EQ(hybrid.experts.routing.chosen, 2);
  EXPECT_EQ(hybrid.experts.intermediate, 96);
  EXPECT_EQ(hybrid.experts.shared_intermediate, 1024);
  EXPECT_FALSE(hybrid.experts.is_shared_gated);
}

TEST(StateConfig, keys_change_what_they_name) {
  EXPECT_THAT(parse(kFive, R"({"full_attention_interval": 2})").recurrent.layers,
              ElementsAre(true, false, true, false));
  EXPECT_FALSE(parse(kFive, R"({"mtp_use_dedicated_embeddings": false})").mtp_has_embedding);
  EXPECT_TRUE(parse(kFive, R"({"mtp_use_dedicated_embeddings": true})").mtp_has_embedding);
  EXPECT_EQ(parse(kLfm, R"({"block_auto_adjust_ff_dim": false})").intermediate, 96);
  EXPECT_EQ(parse(kLfm, R"({"block_ff_dim": 300})").intermediate, 256);
  EXPECT_EQ(parse(kLfm, R"({"block_ff_dim": 384, "block_multiple_of": 100,
                            "block_ffn_dim_multiplier": 1.5})")
                .intermediate,
            400);
  // As the hub has it, and as transformers writes it.
  const ModelConfig named = parse(kHybrid, "{" + kDense + R"(, "mamba_n_heads": 8,
      "layer_types": ["mamba", "attention", "linear_attention", "full_attention"],
      "time_step_limit": [0.0, {"__float__": "Infinity"}], "mamba_d_head": "auto"})");
  EXPECT_THAT(named.recurrent.layers, ElementsAre(true, false, true, false));
  EXPECT_EQ(named.recurrent.shape.most_dt, 0.0F);
  const ModelConfig slow = parse(kHybrid, "{" + kDense + R"(, "mamba_n_heads": 8,
      "time_step_limit": [0.25, {"__float__": "Infinity"}]})");
  EXPECT_EQ(slow.recurrent.shape.least_dt, 0.25F);
  EXPECT_EQ(slow.recurrent.shape.most_dt, std::numeric_limits<float>::infinity());
  EXPECT_EQ(parse(kHybrid, "{" + kDense + R"(, "mamba_n_heads": 8,
      "time_step_limit": [0.25, 2.0]})")
                .recurrent.shape.most_dt,
            2.0F);
  EXPECT_TRUE(parse(kHybrid, "{" + kDense + R"(, "mamba_n_heads": 8,
      "position_embedding_type": "rope"})")
                  .layer_rope.empty());
  const RecurrentBlocks grouped =
      parse(kHybrid, "{" + kDense + R"(, "mamba_n_heads": 8, "mamba_n_groups": 4})").recurrent;
  EXPECT_EQ(grouped.shape.key_heads, 4);
  EXPECT_EQ(grouped.norm_groups, 4);
  EXPECT_EQ(grouped.shape.channels, 128 + 2 * 4 * 256);
  EXPECT_EQ(grouped.shape.first.query, 128 + 4 * 256);
}

TEST(StateConfig, what_is_not_computed_is_refused_by_name) {
  for (const auto& [architecture, changes, key] : std::vector<std::array<std::string, 3>>{
           {kNext, R"({"linear_num_value_heads": 24})", "linear_num_value_heads"},
           {kNext, R"({"linear_conv_kernel_dim": 1})", "linear_conv_kernel_dim"},
           {kNext, R"({"linear_conv_kernel_dim": 33})", "linear_conv_kernel_dim"},
           {kNext, R"({"layer_types": ["linear_attention"]})", "layer_types"},
           {kFive, R"({"num_experts": 4})", "num_experts"},
           {kFive, R"({"hidden_act": "gelu"})", "hidden_act"},
           {kFive, R"({"layer_types": ["conv", "conv", "conv", "conv"]})", "layer_types"},
           {kLfm, R"({"full_attn_idxs": [4]})", "full_attn_idxs"},
           {kLfm, R"({"norm_eps": 0})", "norm_eps"},
           {kLfm, R"({"conv_L_cache": 64})", "conv_L_cache"},
           {kHybrid, R"({"num_local_experts": 2, "num_experts_per_tok": 3, "mamba_n_heads": 8})",
            "num_experts_per_tok"},
           {kFiveMoe, R"({"num_experts": 0})", "num_experts"},
           {kFiveMoe, R"({"num_experts": 4, "num_experts_per_tok": 5})", "num_experts_per_tok"},
           {kLfmMoe, R"({"num_experts": 0})", "num_experts"},
           {kLfmMoe, R"({"num_dense_layers": -1})", "num_dense_layers"},
           {kHybrid, "{" + kDense + R"(, "mamba_n_heads": 7})", "mamba_n_heads"},
           {kHybrid, "{" + kDense + R"(, "mamba_n_heads": 8, "mamba_d_head": 8})", "mamba_d_head"},
           {kHybrid, "{" + kDense + R"(, "mamba_n_heads": 8, "mamba_n_groups": 3})",
            "mamba_n_groups"},
           {kHybrid, "{" + kDense + R"(, "mamba_n_heads": 8, "time_step_limit": [2.0, 1.0]})",
            "time_step_limit"},
           {kHybrid, "{" + kDense + R"(, "mamba_n_heads": 8, "time_step_limit": [0, "none"]})",
            "time_step_limit"},
           {"LlamaForCausalLM", R"({"layer_types": ["linear_attention"]})", "layer_types"}})
    EXPECT_THAT(refusal(architecture, changes), HasSubstr(key)) << architecture << changes;
}

}  // namespace
}  // namespace foretoken::state_config_test
