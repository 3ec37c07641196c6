#include "model/heads/head_config.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/testing/head_config_kit.h"

namespace foretoken::head_config_test {
namespace {

using namespace head_config_kit;
using testing::ElementsAre;
using testing::HasSubstr;

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

TEST(HeadConfig, numbers_of_layers_at_the_top_name_what_enters_them) {
  for (const char* key : {"eagle_aux_hidden_state_layer_ids", "aux_hidden_state_layer_ids"}) {
    const auto with = [&](const char* layers) { return ",\"" + std::string(key) + "\":" + layers; };
    EXPECT_THAT(eagle3(with("[0,5,12]")).taps.layer_inputs, ElementsAre(0, 5, 12));
    EXPECT_THAT(eagle3(with("null")).taps.layer_inputs, ElementsAre(2, 6, 9));
    EXPECT_THAT(eagle3_fault(with("[0,13]")), HasSubstr("ascending inputs of layers 0 to 12"));
    EXPECT_THAT(eagle3_fault(with("[-1,4]")), HasSubstr(key));
    EXPECT_THAT(
        eagle3(with("[1,2]") + R"(,"eagle_config":{"eagle_aux_hidden_state_layer_ids":[1,2]})")
            .taps.layer_inputs,
        ElementsAre(2, 3));
  }
}

TEST(HeadConfig, speculators_keep_the_keys_of_the_layers_in_an_object) {
  const std::string layer = config_text("LlamaForCausalLM", R"(,"model_type":"qwen3",
      "head_dim":16,"tie_word_embeddings":true,"norm_before_residual":false)");
  const auto read_with = [&](const std::string& more) {
    return read(R"({"architectures":["Eagle3Speculator"],"model_type":"speculator_model",
        "speculators_model_type":"eagle3","norm_before_residual":true,"target_hidden_size":null,
        "eagle_aux_hidden_state_layer_ids":null,"tie_word_embeddings":null,
        "transformer_layer_config":)" +
                    layer + more + "}",
                HeadFamily::kEagle3);
  };
  const HeadConfig head = read_with(R"(,"draft_vocab_size":100)");
  EXPECT_EQ(head.draft_vocab, 100);
  EXPECT_TRUE(head.norm_before_residual);
  EXPECT_TRUE(head.head_is_embedding);  // null says nothing
  EXPECT_EQ(head.layer.architecture, "Qwen3ForCausalLM");
  EXPECT_THAT(head.taps.layer_inputs, ElementsAre(2, 6, 9));
  EXPECT_EQ(read_with(R"(,"num_hidden_layers":2)").layer.layers, 2);  // what is outside counts
  // The format alone tells the family.
  EXPECT_EQ(read(R"({"architectures":["Drafter"],"speculators_model_type":"eagle3",
                     "transformer_layer_config":)" +
                     layer + "}",
                 HeadFamily::kEagle3)
                .layer.hidden,
            64);
}

TEST(HeadConfig, vllm_keeps_a_whole_config_in_an_object) {
  const HeadConfig head = read(R"({"model_type":"eagle","model":)" +
                                   config_text("Qwen2ForCausalLMEagle", R"(,"bias":false)") + "}",
                               HeadFamily::kEagle);
  EXPECT_FALSE(head.join_bias);
  EXPECT_EQ(head.layer.architecture, "Qwen2ForCausalLM");
  EXPECT_EQ(
      read(config_text("LlamaForCausalLMEagle", R"(,"model":"some/model")"), HeadFamily::kEagle)
          .layer.hidden,
      64);
}

TEST(HeadConfig, the_type_of_the_layers_counts_where_the_name_does_not_say) {
  const auto architecture = [](const char* name, const char* type) {
    return read(config_text(name, R"(,"head_dim":16,"model_type":")" + std::string(type) + "\""),
                HeadFamily::kEagle3)
        .layer.architecture;
  };
  EXPECT_EQ(architecture("Eagle3DraftModel", "qwen2"), "Qwen2ForCausalLM");
  EXPECT_EQ(architecture("Eagle3DraftModel", "other"), "LlamaForCausalLM");
  EXPECT_EQ(architecture("LlamaForCausalLMEagle3", "qwen3"), "LlamaForCausalLM");
}

TEST(HeadConfig, flags_of_eagle3_are_read) {
  const HeadConfig head = eagle3(
      R"(,"norm_before_fc":true,"use_aux_norm":true,"bias":true,"norm_before_residual":true)");
  EXPECT_EQ(head.taps_norm, "input_norm");
  EXPECT_EQ(head.tap_norms_name, "fc_norm.");
  EXPECT_TRUE(head.tap_join_bias && head.norm_before_residual);
  EXPECT_TRUE(eagle3(R"(,"tie_word_embeddings":true)").head_is_embedding);
  EXPECT_THAT(eagle3_fault(R"(,"draft_vocab_size":301)"), HasSubstr("at most 300"));
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
  EXPECT_THAT(fault(config_text("DFlashDraftModel"), HeadFamily::kEagle),
              HasSubstr("not supported yet: draft heads of DFLASH"));
  EXPECT_THAT(fault(config_text("LlamaForCausalLMEagle"), HeadFamily::kEagle3),
              HasSubstr("expected --speculative-algorithm EAGLE, found LlamaForCausalLMEagle "
                        "under EAGLE3"));
}

TEST(HeadConfig, a_head_without_a_name_is_what_it_is_asked_for_as) {
  const auto nameless = [](const std::string& more, HeadFamily family) {
    return read(config_text("", R"(,"architectures":null)" + more), family);
  };
  EXPECT_EQ(nameless("", HeadFamily::kEagle).join_name, "fc");
  EXPECT_EQ(nameless("", HeadFamily::kEagle3).tap_join_name, "fc");
  EXPECT_EQ(nameless(R"(,"model_type":"qwen3")", HeadFamily::kEagle).layer.architecture,
            "Qwen3ForCausalLM");
  EXPECT_THAT(error_of([&] { nameless(R"(,"draft_vocab_size":9)", HeadFamily::kEagle); }),
              HasSubstr("found a head without a name under EAGLE"));
}

// Configs copied from a target that is quantized by means unknown here.
TEST(HeadConfig, heads_of_another_target_are_refused) {
  const auto fault = [](const std::string& more) {
    return error_of([&] { read(config_text("LlamaForCausalLMEagle", more), HeadFamily::kEagle); });
  };
  EXPECT_THAT(fault(R"(,"hidden_size":128)"), HasSubstr("expected hidden_size 64, found 128"));
  EXPECT_THAT(fault(R"(,"vocab_size":299)"), HasSubstr("expected vocab_size 300, found 299"));
  const TestFolder empty;
  EXPECT_THAT(error_of([&] { read_head_config(empty.path(), HeadFamily::kEagle, target()); }),
              HasSubstr("no config.json"));
}

// Their layers follow the target's last, and have experts where that one has.
// The config alone says so: some writers leave a copy of the target's embedding beside the head.
// As many as the checkpoint has without a gap, whatever the config says.
// The target leaves these tensors alone.

}  // namespace
}  // namespace foretoken::head_config_test
