#include "model/head_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/head_weights.h"
#include "model/test_files.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

ModelConfig target() {
  ModelConfig config;
  config.architecture = "LlamaForCausalLM";
  config.layers = 12;
  config.hidden = 64;
  config.intermediate = 96;
  config.heads = config.kv_heads = 4;
  config.head_dim = 16;
  config.vocab = 300;
  config.max_position = config.context_length = 512;
  return config;
}

// The config of a head: `more` are further keys, with a comma in front.
std::string config_text(const std::string& architecture, const std::string& more = {}) {
  return R"({"architectures":[")" + architecture + R"("],"num_hidden_layers":1,"hidden_size":64,
      "intermediate_size":96,"num_attention_heads":4,"num_key_value_heads":4,"vocab_size":300,
      "max_position_embeddings":128)" +
         more + "}";
}

HeadConfig read(const std::string& text, HeadFamily family) {
  const TempFolder folder;
  folder.write("config.json", text);
  return read_head_config(folder.path(), family, target());
}

HeadConfig eagle3(const std::string& more = {}) {
  return read(config_text("LlamaForCausalLMEagle3", more), HeadFamily::kEagle3);
}

std::string eagle3_fault(const std::string& more) {
  return error_of([&] { eagle3(more); });
}

TEST(HeadConfig, eagle_has_no_norm_in_front_and_none_at_the_end) {
  const HeadConfig head = read(config_text("LlamaForCausalLMEagle"), HeadFamily::kEagle);
  EXPECT_TRUE(head.taps.last_hidden && head.taps.layer_inputs.empty());
  EXPECT_EQ(head.join_name, "fc");
  EXPECT_TRUE(head.join_bias);
  EXPECT_EQ(head.input_norm + head.final_norm + head.embedding_norm + head.feature_norm, "");
  EXPECT_EQ(head.layer_prefix(0), "layers.0.");
  EXPECT_EQ(head.layer.context_length, 512);  // what the target reads, it reads
  EXPECT_FALSE(
      read(config_text("LlamaForCausalLMEagle", R"(,"bias":false)"), HeadFamily::kEagle).join_bias);
  EXPECT_TRUE(read(config_text("Qwen2ForCausalLMEagle"), HeadFamily::kEagle).layer.qkv_bias);
}

TEST(HeadConfig, eagle3_reads_a_low_a_middle_and_a_high_layer) {
  const HeadConfig head = eagle3(R"(,"draft_vocab_size":100)");
  EXPECT_THAT(head.taps.layer_inputs, ElementsAre(2, 6, 9));
  EXPECT_FALSE(head.taps.last_hidden || head.tap_join_bias || head.norm_before_residual);
  EXPECT_TRUE(head.recurs_before_norm);
  EXPECT_EQ(head.draft_vocab, 100);
  EXPECT_EQ(head.head_name, "lm_head");
}

TEST(HeadConfig, eagle_config_names_what_leaves_layers) {
  const HeadConfig head =
      eagle3(R"(,"eagle_config":{"eagle_aux_hidden_state_layer_ids":[0,11],"norm_output":true})");
  EXPECT_THAT(head.taps.layer_inputs, ElementsAre(1, 12));
  EXPECT_FALSE(head.recurs_before_norm);
  const HeadConfig last = eagle3(R"(,"eagle_config":{"use_aux_hidden_state":false})");
  EXPECT_TRUE(last.taps.last_hidden && last.tap_join_name.empty());
  EXPECT_THAT(
      eagle3_fault(R"(,"eagle_config":{"eagle_aux_hidden_state_layer_ids":[1,12]})"),
      HasSubstr("expected ascending outputs of layers 0 to 11, found what enters layers 2, 13"));
  EXPECT_THAT(eagle3_fault(R"(,"eagle_aux_hidden_state_layer_ids":[7,3])"), HasSubstr("ascending"));
  EXPECT_THAT(eagle3_fault(R"(,"num_aux_hidden_states":4)"), HasSubstr("num_aux_hidden_states"));
}

TEST(HeadConfig, flags_of_eagle3_are_read) {
  const HeadConfig head = eagle3(
      R"(,"norm_before_fc":true,"use_aux_norm":true,"bias":true,"norm_before_residual":true)");
  EXPECT_EQ(head.taps_norm, "input_norm");
  EXPECT_EQ(head.tap_norms_name, "fc_norm.");
  EXPECT_TRUE(head.tap_join_bias && head.norm_before_residual);
  EXPECT_TRUE(eagle3(R"(,"tie_word_embeddings":true)").head_is_embedding);
  EXPECT_THAT(eagle3_fault(R"(,"tie_word_embeddings":true,"draft_vocab_size":100)"),
              HasSubstr("draft_vocab_size"));
  EXPECT_THAT(eagle3_fault(R"(,"draft_vocab_size":301)"), HasSubstr("at most 300"));
}

TEST(HeadConfig, a_head_of_another_width_brings_embedding_and_output_matrix) {
  const std::string wide = R"(,"head_dim":16,"target_hidden_size":64,"hidden_size":80)";
  const HeadConfig head = eagle3(wide + R"(,"draft_vocab_size":100)");
  EXPECT_TRUE(head.has_embedding);
  EXPECT_EQ(head.target_hidden, 64);
  EXPECT_THAT(eagle3_fault(wide), HasSubstr("missing key \"draft_vocab_size\""));
  EXPECT_THAT(eagle3_fault(R"(,"target_hidden_size":32)"), HasSubstr("made for another model"));
}

TEST(HeadConfig, heads_of_another_kind_are_refused_by_name) {
  const auto fault = [](const std::string& text, HeadFamily family) {
    return error_of([&] { read(text, family); });
  };
  EXPECT_THAT(fault(config_text("LlamaForCausalLMEagle3"), HeadFamily::kEagle),
              HasSubstr("expected --speculative-algorithm EAGLE3, found LlamaForCausalLMEagle3 "
                        "under EAGLE"));
  EXPECT_THAT(
      fault(config_text("LlamaForCausalLM", R"(,"draft_vocab_size":9)"), HeadFamily::kEagle),
      HasSubstr("EAGLE-3 head"));
  EXPECT_THAT(fault(config_text("LlamaForCausalLMEagle"), HeadFamily::kEagle3),
              HasSubstr("expected --speculative-algorithm EAGLE, found LlamaForCausalLMEagle "
                        "under EAGLE3"));
}

TEST(HeadConfig, heads_of_another_target_are_refused) {
  const auto fault = [](const std::string& more) {
    return error_of([&] { read(config_text("LlamaForCausalLMEagle", more), HeadFamily::kEagle); });
  };
  EXPECT_THAT(fault(R"(,"hidden_size":128)"), HasSubstr("expected hidden_size 64, found 128"));
  EXPECT_THAT(fault(R"(,"vocab_size":299)"), HasSubstr("expected vocab_size 300, found 299"));
  const TempFolder empty;
  EXPECT_THAT(error_of([&] { read_head_config(empty.path(), HeadFamily::kEagle, target()); }),
              HasSubstr("no config.json"));
}

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
  EXPECT_TRUE(find_mtp_heads({"model.layers.11.eh_proj.weight"}, target()).empty());
}

// As many as the checkpoint has without a gap, whatever the config says.
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

TEST(HeadWeights, all_spellings_become_one) {
  const TempFolder folder;
  folder.write("model.safetensors",
               safetensors_bytes({test_tensor("model.fc.weight", {2, 4}),
                                  test_tensor("midlayer.hidden_norm.weight", {3}),
                                  test_tensor("aux_norm_mid.weight", {2})}));
  const auto weights = head_weights(open_checkpoint(folder.path(), "auto", false));
  EXPECT_THAT(weights->names(),
              UnorderedElementsAre("fc.weight", "layers.0.hidden_norm.weight", "fc_norm.1.weight"));
  EXPECT_EQ(weights->find("fc.weight", {2, 4})->shape(), (Shape{2, 4}));
  EXPECT_FALSE(weights->find("model.fc.weight", {2, 4}));
}

TEST(HeadWeights, two_spellings_of_one_tensor_are_refused) {
  const TempFolder folder;
  folder.write("model.safetensors", safetensors_bytes({test_tensor("model.fc.weight", {2}),
                                                       test_tensor("fc.weight", {2})}));
  EXPECT_THAT(error_of([&] { head_weights(open_checkpoint(folder.path(), "auto", false)); }),
              HasSubstr("mean the same"));
}

}  // namespace
}  // namespace foretoken
