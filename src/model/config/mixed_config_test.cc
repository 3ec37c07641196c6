// Configs of models whose layers differ: in the sizes of heads, in whose keys and values they read,
// in the width of the MLP.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/testing/test_files.h"
#include "model/config/model_config.h"

namespace foretoken::mixed_config_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kRope =
    R"("rope_parameters":{"sliding_attention":{"rope_type":"default","rope_theta":7e3},
       "full_attention":{"rope_type":"proportional","partial_rotary_factor":0.25,"rope_theta":2e6}})";

// `more`: further keys, each behind a comma.
ModelConfig parse(const std::string& more = "", const std::string& name = "Gemma4ForCausalLM") {
  return ModelConfig::parse(R"({"architectures":[")" + name + R"("],"hidden_size":64,
      "intermediate_size":96,"num_hidden_layers":6,"num_attention_heads":4,"vocab_size":512,
      "num_key_value_heads":2,"head_dim":16,)" +
                                (more.empty() ? "" : more + ",") + kRope + "}",
                            "config.json");
}

constexpr const char* kPlain = R"("hidden_size_per_layer_input":0)";

std::string fault(const std::string& more) {
  return error_of([&] { parse(std::string(kPlain) + "," + more); });
}

TEST(MixedConfig, layers_that_see_all_have_wider_heads_and_another_rope) {
  const ModelConfig config = parse(kPlain);
  EXPECT_THAT(config.layer_window, ElementsAre(512, 512, 512, 512, 512, 0));
  EXPECT_EQ(config.heads_of(4), (KvHeads{2, 16}));
  EXPECT_EQ(config.heads_of(5), (KvHeads{2, 512}));
  EXPECT_EQ(config.widest_head(), 512);
  EXPECT_EQ(config.rope_of(4), LayerRope::kLocal);
  EXPECT_EQ(config.rope_of(5), LayerRope::kMain);
  EXPECT_EQ(config.local_rope_theta, 7e3);
  EXPECT_EQ(config.rope_theta, 2e6);
  EXPECT_EQ(config.rope.kind, RopeScaling::Kind::kProportional);
  EXPECT_EQ(config.rope.share, 0.25);
  EXPECT_EQ(config.rope.factor, 1.0);
  EXPECT_TRUE(config.qk_norm && config.v_norm && config.has_layer_scale && config.tied_embeddings);
  EXPECT_EQ(config.score_scale, 1.0);
  EXPECT_EQ(config.logit_cap, 0.0F);
  EXPECT_EQ(config.kv_layers(), 6);
  EXPECT_EQ(parse(kPlain, "Gemma4UnifiedForCausalLM").layer_window[0], 1024);
  EXPECT_EQ(parse(kPlain, "Gemma4UnifiedForCausalLM").max_position, 262144);
}

TEST(MixedConfig, heads_are_said_once_or_layer_by_layer) {
  const ModelConfig once = parse(std::string(kPlain) + R"(,"global_head_dim":32,
      "num_global_key_value_heads":1,"attention_k_eq_v":true)");
  EXPECT_EQ(once.heads_of(0), (KvHeads{2, 16}));
  EXPECT_EQ(once.heads_of(5), (KvHeads{1, 32}));
  EXPECT_TRUE(once.has_values(0));
  EXPECT_FALSE(once.has_values(5));
  const ModelConfig apart =
      parse(std::string(kPlain) + R"(,"global_head_dim":32,"num_global_key_value_heads":1)");
  EXPECT_EQ(apart.heads_of(5), (KvHeads{2, 32})) << "fewer only where values are keys";
  const ModelConfig listed = parse(std::string(kPlain) + R"(,"global_head_dim":64,
      "per_layer_config":{"05":{"head_dim":48,"num_key_value_heads":4}})");
  EXPECT_EQ(listed.heads_of(5), (KvHeads{4, 48}));
  EXPECT_EQ(listed.heads_of(4), (KvHeads{2, 16}));
  const ModelConfig single = parse(std::string(kPlain) + R"(,
      "per_layer_config":{"5":{"num_key_value_heads":1}})");
  EXPECT_EQ(single.heads_of(5), (KvHeads{1, 16}));
}

TEST(MixedConfig, the_last_layers_read_what_the_last_of_their_kind_keeps) {
  const ModelConfig config = parse(R"("num_kv_shared_layers":3,"use_double_wide_mlp":true,
      "hidden_size_per_layer_input":8,"vocab_size_per_layer_input":512,
      "layer_types":["full_attention","sliding_attention","sliding_attention","sliding_attention",
                     "full_attention","sliding_attention"])");
  EXPECT_THAT(config.layer_kv, ElementsAre(0, 1, 2, 2, 0, 0)) << "the last layer sees all";
  EXPECT_EQ(config.kv_layers(), 3);
  EXPECT_THAT(config.layer_intermediate, ElementsAre(96, 96, 96, 192, 192, 192));
  EXPECT_EQ(config.widest_mlp(), 192);
  EXPECT_EQ(config.inputs.width, 8);
  EXPECT_EQ(parse(R"("vocab_size_per_layer_input":512)").inputs.width, 256)
      << "where the config does not say";
}

TEST(MixedConfig, experts_lie_beside_the_mlp) {
  const ModelConfig config = parse(std::string(kPlain) + R"(,"enable_moe_block":true,
      "num_experts":8,"top_k_experts":3,"moe_intermediate_size":24)");
  EXPECT_EQ(config.experts.routing.experts, 8);
  EXPECT_EQ(config.experts.routing.chosen, 3);
  EXPECT_EQ(config.experts.intermediate, 24);
  EXPECT_TRUE(config.experts.routing.normalises && config.experts.beside.is_on());
  const ModelConfig off = parse(std::string(kPlain) + R"(,"num_experts":8,"top_k_experts":3)");
  EXPECT_EQ(off.experts.routing.experts, 0);
}

TEST(MixedConfig, what_is_not_computed_is_refused_by_name) {
  EXPECT_THAT(fault(R"("use_bidirectional_attention":"all")"),
              HasSubstr("use_bidirectional_attention"));
  EXPECT_THAT(fault(R"("num_kv_shared_layers":6)"), HasSubstr("num_kv_shared_layers"));
  EXPECT_THAT(fault(R"("num_kv_shared_layers":5,"layer_types":["sliding_attention",
      "full_attention","full_attention","full_attention","full_attention","full_attention"])"),
              HasSubstr("one of each type is left to read"));
  EXPECT_THAT(fault(R"("per_layer_config":{"6":{"head_dim":32}})"),
              HasSubstr("settings of a layer below 6"));
  EXPECT_THAT(fault(R"("per_layer_config":{"x":{"head_dim":32}})"),
              HasSubstr("settings of a layer below 6"));
  EXPECT_THAT(fault(R"("per_layer_config":{"5":{"intermediate_size":32}})"),
              HasSubstr("intermediate_size"));
  EXPECT_THAT(fault(R"("per_layer_config":{"1":{"head_dim":32}})"),
              HasSubstr("the same heads in all layers of a type"));
  EXPECT_THAT(fault(R"("per_layer_config":{"5":{"head_dim":16386}})"), HasSubstr("head_dim"));
  EXPECT_THAT(fault(R"("global_head_dim":33)"), HasSubstr("an even number"));
  EXPECT_THAT(fault(R"("per_layer_config":{"5":{"num_key_value_heads":3}})"),
              HasSubstr("a divisor of num_attention_heads = 4"));
  EXPECT_THAT(fault(R"("enable_moe_block":true,"num_experts":8)"), HasSubstr("top_k_experts"));
  EXPECT_THAT(error_of([] {
                parse(R"("hidden_size_per_layer_input":8,"vocab_size_per_layer_input":100)");
              }),
              HasSubstr("vocab_size_per_layer_input"));
  const auto of_rope = [](const std::string& rope) {
    return error_of([&] {
      ModelConfig::parse(R"({"architectures":["Gemma4ForCausalLM"],"hidden_size":64,
          "num_hidden_layers":6,"num_attention_heads":4,"hidden_size_per_layer_input":0)" +
                             rope + "}",
                         "config.json");
    });
  };
  EXPECT_THAT(of_rope(""), HasSubstr("missing key \"rope_parameters\""));
  EXPECT_THAT(of_rope(R"(,"rope_parameters":{"full_attention":{}})"),
              HasSubstr("settings of full_attention and sliding_attention"));
  EXPECT_THAT(of_rope(R"(,"rope_parameters":{"sliding_attention":{},"full_attention":{
      "rope_type":"proportional","partial_rotary_factor":0}})"),
              HasSubstr("partial_rotary_factor"));
}

}  // namespace
}  // namespace foretoken::mixed_config_test
