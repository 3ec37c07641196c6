// Heads that lie in the checkpoint of their target.
#include "model/heads/head_config.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/index.h"
#include "model/testing/head_config_kit.h"

namespace foretoken::mtp_heads_test {
namespace {

using head_config_kit::target;
using testing::UnorderedElementsAre;

TEST(HeadConfig, mtp_heads_are_known_by_their_tensors) {
  const auto mimo = find_mtp_heads({"model.mtp_layers.0.input_proj.weight"}, target());
  ASSERT_EQ(mimo.size(), 1U);
  EXPECT_TRUE(mimo[0].feature_first && mimo[0].first_embedding_is_zero);
  EXPECT_EQ(mimo[0].layer_prefix(0), "model.mtp_layers.0.");
  const auto nextn = find_mtp_heads({"model.layers.12.eh_proj.weight"}, target());
  ASSERT_EQ(nextn.size(), 1U);
  EXPECT_EQ(nextn[0].final_norm, "model.layers.12.shared_head.norm");
  EXPECT_EQ(nextn[0].layer.layers, 1);
  const auto qwen = find_mtp_heads({"mtp.fc.weight"}, target());
  ASSERT_EQ(qwen.size(), 1U);
  EXPECT_EQ(qwen[0].input_norm, "mtp.layers.0.input_layernorm");
  const auto lone = find_mtp_heads({"model.layers.0.eh_proj.weight"}, target());
  ASSERT_EQ(lone.size(), 1U);
  EXPECT_EQ(lone[0].final_norm, "model.layers.0.shared_head.norm");
  EXPECT_EQ(lone[0].input_norm, "model.layers.0.input_layernorm");
  EXPECT_TRUE(find_mtp_heads({"model.layers.11.eh_proj.weight"}, target()).empty());
}

TEST(HeadConfig, mtp_heads_have_the_mlp_of_the_last_layer) {
  const std::vector<std::string> names{"model.layers.12.eh_proj.weight"};
  for (const bool has_experts : {false, true}) {
    ModelConfig config = target();
    config.experts.routing.experts = 4;
    config.experts.layers.assign(at(config.layers), !has_experts);
    config.experts.layers.back() = has_experts;
    const auto heads = find_mtp_heads(names, config);
    ASSERT_EQ(heads.size(), 1U);
    EXPECT_EQ(heads[0].layer.experts.are_in(0), has_experts);
  }
}

TEST(HeadConfig, mtp_heads_may_have_an_embedding_of_their_own) {
  const std::vector<std::string> names{"mtp.fc.weight", "mtp.embed_tokens.weight"};
  ModelConfig config = target();
  EXPECT_FALSE(find_mtp_heads(names, config).at(0).has_embedding);
  config.mtp_has_embedding = true;
  const HeadConfig head = find_mtp_heads(names, config).at(0);
  EXPECT_TRUE(head.has_embedding);
  EXPECT_EQ(head.embedding_name, "mtp.embed_tokens");
  EXPECT_TRUE(head.head_name.empty());  // the output matrix is the target's
}

TEST(HeadConfig, a_checkpoint_may_have_a_head_for_each_depth) {
  std::vector<std::string> names;
  const auto add_nextn = [&](int layer) {
    const std::string prefix = "model.layers." + std::to_string(layer) + ".";
    names.push_back(prefix + "input_layernorm.weight");
    names.push_back(prefix + "eh_proj.weight");
  };
  for (const int layer : {12, 13, 14, 16}) add_nextn(layer);
  const auto nextn = find_mtp_heads(names, target());
  ASSERT_EQ(nextn.size(), 3U);
  EXPECT_EQ(nextn[2].join_name, "model.layers.14.eh_proj");
  EXPECT_EQ(nextn[2].input_norm, "model.layers.14.input_layernorm");
  EXPECT_EQ(nextn[2].layer.layers, 1);
  EXPECT_FALSE(nextn[2].all_read_target);

  const auto mimo = find_mtp_heads(
      {"model.mtp_layers.0.input_proj.weight", "model.mtp_layers.1.input_proj.weight",
       "model.mtp_layers.0.input_layernorm.weight", "model.mtp_layers.1.input_layernorm.weight"},
      target());
  ASSERT_EQ(mimo.size(), 2U);
  EXPECT_EQ(mimo[1].final_norm, "model.mtp_layers.1.final_layernorm");
  EXPECT_TRUE(mimo[0].all_read_target);

  const auto qwen = find_mtp_heads({"mtp.fc.weight", "mtp.layers.0.input_layernorm.weight",
                                    "mtp.layers.1.input_layernorm.weight"},
                                   target());
  ASSERT_EQ(qwen.size(), 2U);
  EXPECT_EQ(qwen[1].layer_prefix(0), "mtp.layers.1.");
  EXPECT_EQ(qwen[1].join_name, "mtp.fc");

  for (int layer = 15; layer < 40; ++layer) add_nextn(layer);
  EXPECT_EQ(find_mtp_heads(names, target()).size(), 15U);  // as a page has slots, but for the first
}

TEST(HeadConfig, of_made_up_weights_the_config_says_what_they_hold) {
  EXPECT_TRUE(find_mtp_heads({}, target()).empty());
  ModelConfig config = target();
  config.mtp_layers = 1;
  EXPECT_EQ(find_mtp_heads({}, config).at(0).layer_prefix(0), "model.layers.12.");
  config.architecture = "MiMoForCausalLM";
  config.mtp_layers = 3;
  const auto heads = find_mtp_heads({}, config);
  ASSERT_EQ(heads.size(), 3U);
  EXPECT_EQ(heads[0].layer_prefix(0), "model.mtp_layers.0.");
  EXPECT_EQ(heads[2].layer_prefix(0), "model.mtp_layers.2.");
  config.mtp_layers = 1 << 14;
  EXPECT_EQ(find_mtp_heads({}, config).size(), 15U);
}

TEST(HeadConfig, mtp_heads_say_which_tensors_are_theirs) {
  const std::vector<std::string> names{"model.layers.0.mlp.up_proj.weight",
                                       "model.layers.12.eh_proj.weight",
                                       "model.layers.13.eh_proj.weight", "model.norm.weight"};
  EXPECT_THAT(
      mtp_prefixes(names, target()),
      UnorderedElementsAre("model.mtp_layers.", "mtp.", "model.layers.12.", "model.layers.13."));
  EXPECT_THAT(mtp_prefixes({"model.layers.0.eh_proj.weight"}, target()),
              UnorderedElementsAre("model.mtp_layers.", "mtp."));
}

}  // namespace
}  // namespace foretoken::mtp_heads_test
