#include "model/heads/head_config.h"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/index.h"
#include "base/testing/test_folder.h"
#include "checkpoint/head_weights.h"
#include "checkpoint/testing/test_files.h"
#include "checkpoint/testing/test_source.h"
#include "model/heads/head_tensors.h"

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
  const TestFolder folder;
  folder.write("config.json", text);
  return read_head_config(folder.path(), family, target());
}

HeadConfig eagle3(const std::string& more = {}) {
  return read(config_text("LlamaForCausalLMEagle3", more), HeadFamily::kEagle3);
}

std::string eagle3_fault(const std::string& more) {
  return error_of([&] { eagle3(more); });
}

using Shapes = std::map<std::string, Shape>;

// What becomes of a head whose checkpoint has these tensors; none: made-up weights.
HeadConfig fit(HeadConfig head, const Shapes& tensors) {
  TensorSource source;
  for (const auto& [name, shape] : tensors) source.put(name, DType::kF32, shape, 1.0F);
  fit_to_tensors(head, source);
  return head;
}

HeadConfig fitted(const std::string& more, const Shapes& tensors) {
  return fit(eagle3(more), tensors);
}

std::string fit_fault(const std::string& more, const Shapes& tensors) {
  return error_of([&] { fitted(more, tensors); });
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

TEST(HeadConfig, a_head_of_another_width_brings_embedding_and_output_matrix) {
  const std::string wide = R"(,"head_dim":16,"target_hidden_size":64,"hidden_size":80)";
  const HeadConfig head = eagle3(wide + R"(,"draft_vocab_size":100)");
  EXPECT_TRUE(head.has_embedding);
  EXPECT_EQ(head.target_hidden, 64);
  EXPECT_EQ(fitted(wide, {{"lm_head.weight", {50, 80}}}).draft_vocab, 50);
  EXPECT_THAT(fit_fault(wide, {{"fc.weight", {80, 192}}}), HasSubstr("has no output matrix"));
  EXPECT_THAT(fit_fault(wide, {}), HasSubstr("has no output matrix"));
  // The target's would not fit, so its own will be missed.
  const HeadConfig whole = fitted(wide + R"(,"draft_vocab_size":300)", {{"fc.weight", {80, 192}}});
  EXPECT_EQ(whole.head_name, "lm_head");
  EXPECT_THAT(eagle3_fault(R"(,"target_hidden_size":32)"), HasSubstr("made for another model"));
}

TEST(HeadTensors, an_output_matrix_that_is_stored_is_used_whatever_the_config_says) {
  for (const char* more : {"", R"(,"draft_vocab_size":null)", R"(,"draft_vocab_size":300)",
                           R"(,"tie_word_embeddings":true)",
                           R"(,"tie_word_embeddings":true,"draft_vocab_size":100)"}) {
    for (const std::int64_t rows : {300, 100}) {
      const HeadConfig head = fitted(more, {{"lm_head.weight", {rows, 64}}});
      EXPECT_EQ(head.head_name, "lm_head") << more;
      EXPECT_EQ(head.draft_vocab, rows) << more;
      EXPECT_FALSE(head.head_is_embedding) << more;
    }
  }
  for (const std::int64_t rows : {0, 301})
    EXPECT_THAT(fit_fault("", {{"lm_head.weight", {rows, 64}}}),
                HasSubstr("expected 1 to 300 rows, found " + std::to_string(rows)));
}

TEST(HeadTensors, rows_of_codes_are_counted_by_the_map_or_the_config) {
  const Shapes codes{{"lm_head.qweight", {64, 12}}};
  EXPECT_EQ(fitted("", codes).draft_vocab, 300);
  EXPECT_EQ(fitted(R"(,"draft_vocab_size":96)", codes).draft_vocab, 96);
  EXPECT_EQ(fitted("", {{"lm_head.qweight", {64, 12}}, {"d2t", {96}}}).draft_vocab, 96);
  EXPECT_EQ(fitted("", {{"lm_head.weight", {96, 8}}, {"d2t", {90}}}).draft_vocab, 90);
}

TEST(HeadTensors, without_an_output_matrix_a_head_uses_the_targets_or_the_embedding) {
  const Shapes none{{"fc.weight", {64, 192}}};
  const HeadConfig whole = fitted(R"(,"draft_vocab_size":300)", none);
  EXPECT_EQ(whole.head_name, "");
  EXPECT_EQ(whole.draft_vocab, 0);
  for (const char* more : {"", R"(,"draft_vocab_size":300)"}) {
    const HeadConfig tied = fitted(R"(,"tie_word_embeddings":true)" + std::string(more), none);
    EXPECT_TRUE(tied.head_is_embedding);
    EXPECT_EQ(tied.draft_vocab, 0);
  }
  EXPECT_EQ(fitted(R"(,"draft_vocab_size":100)", none).head_name, "lm_head");  // will be missed
  const std::string few = R"(,"tie_word_embeddings":true,"draft_vocab_size":100)";
  EXPECT_THAT(fit_fault(few, none), HasSubstr("found draft_vocab_size 100"));
  EXPECT_THAT(fit_fault(few, {}), HasSubstr("found draft_vocab_size 100"));
  EXPECT_EQ(fitted(R"(,"draft_vocab_size":300)", {}).head_name, "lm_head");  // made up
}

TEST(HeadTensors, an_output_matrix_beside_an_eagle_head_is_a_copy_of_the_targets) {
  const HeadConfig head = fit(read(config_text("LlamaForCausalLMEagle"), HeadFamily::kEagle),
                              {{"lm_head.weight", {300, 64}}});
  EXPECT_EQ(head.head_name, "");
  EXPECT_EQ(head.draft_vocab, 0);
}

TEST(HeadTensors, biases_and_norms_are_those_that_are_stored) {
  const std::string all =
      R"(,"draft_vocab_size":300,"bias":true,"attention_bias":true,"mlp_bias":true)";
  const HeadConfig inherited = fitted(all, {{"fc.weight", {64, 192}}});
  EXPECT_FALSE(inherited.tap_join_bias || inherited.layer.qkv_bias || inherited.layer.o_bias ||
               inherited.layer.mlp_bias || inherited.layer.qk_norm);
  const HeadConfig made_up = fitted(all, {});
  EXPECT_TRUE(made_up.tap_join_bias && made_up.layer.qkv_bias && made_up.layer.o_bias &&
              made_up.layer.mlp_bias);
  const auto has = [](const std::string& name) {
    return fitted("", {{name, {64}}, {"fc.weight", {64, 192}}});
  };
  EXPECT_TRUE(has("fc.bias").tap_join_bias);
  for (const char* part : {"q", "k", "v"})
    EXPECT_TRUE(has("layers.0.self_attn." + std::string(part) + "_proj.bias").layer.qkv_bias);
  EXPECT_TRUE(has("layers.0.self_attn.o_proj.bias").layer.o_bias);
  EXPECT_TRUE(has("layers.0.mlp.down_proj.bias").layer.mlp_bias);
  EXPECT_TRUE(has("layers.0.self_attn.q_norm.weight").layer.qk_norm);
  EXPECT_FALSE(has("layers.1.self_attn.q_norm.weight").layer.qk_norm);

  const HeadConfig eagle = read(config_text("LlamaForCausalLMEagle"), HeadFamily::kEagle);
  EXPECT_FALSE(fit(eagle, {{"fc.weight", {64, 128}}}).join_bias);
  const HeadConfig no_bias =
      read(config_text("LlamaForCausalLMEagle", R"(,"bias":false)"), HeadFamily::kEagle);
  EXPECT_TRUE(fit(no_bias, {{"fc.bias", {64}}}).join_bias);
}

TEST(HeadTensors, a_head_has_as_many_layers_as_are_stored) {
  const std::string many = R"(,"num_hidden_layers":36)";
  const Shapes one{{"layers.0.hidden_norm.weight", {64}}, {"layers.2.hidden_norm.weight", {64}}};
  HeadConfig head = eagle3(many);
  head.layer.layer_window.assign(36, 8);
  testing::internal::CaptureStderr();
  const HeadConfig fewer = fit(head, one);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("has 1 of the 36 layers"));
  EXPECT_EQ(fewer.layer.layers, 1);
  EXPECT_THAT(fewer.layer.layer_window, ElementsAre(8));
  EXPECT_EQ(fitted("", {{"layers.0.x", {1}}, {"layers.1.x", {1}}}).layer.layers, 1);
  EXPECT_EQ(fitted(many, {{"fc.weight", {64, 192}}}).layer.layers, 36);  // will be missed
  EXPECT_EQ(fitted(many, {}).layer.layers, 36);
}

TEST(HeadTensors, later_layers_have_the_norm_that_is_stored) {
  const HeadConfig head =
      fitted(R"(,"num_hidden_layers":4)", {{"layers.0.hidden_norm.weight", {64}},
                                           {"layers.1.hidden_norm.weight", {64}},
                                           {"layers.1.input_layernorm.weight", {64}},
                                           {"layers.2.input_layernorm.weight", {64}},
                                           {"layers.3.self_attn.o_proj.weight", {64, 64}}});
  EXPECT_EQ(head.norm_before(0), "");
  EXPECT_EQ(head.norm_before(1), "layers.1.hidden_norm");
  EXPECT_EQ(head.norm_before(2), "layers.2.input_layernorm");
  EXPECT_EQ(head.norm_before(3), "layers.3.hidden_norm");  // will be missed
  const HeadConfig eagle =
      read(config_text("LlamaForCausalLMEagle", R"(,"num_hidden_layers":2)"), HeadFamily::kEagle);
  EXPECT_EQ(eagle.norm_before(1), "layers.1.input_layernorm");
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
TEST(HeadTensors, what_a_config_says_of_codes_matters_only_where_there_are_some) {
  const HeadConfig head =
      eagle3(R"(,"quantization_config":{"quant_method":"bitsandbytes","load_in_4bit":true})");
  EXPECT_FALSE(head.layer.stored_quantization);
  TensorSource source;
  source.put("fc.weight", DType::kBF16, {4}, std::uint16_t{0});
  source.put("d2t", DType::kI64, {4}, std::int64_t{0});
  source.put("t2d", DType::kBool, {4}, true);
  check_quantization(head, source);
  check_quantization(head, TensorSource());
  source.put("layers.0.mlp.up_proj.weight", DType::kU8, {4}, std::uint8_t{0});
  EXPECT_THAT(error_of([&] { check_quantization(head, source); }), HasSubstr("bitsandbytes"));
  EXPECT_EQ(error_of([&] { check_quantization(eagle3(), source); }), "");
}

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

// Their layers follow the target's last, and have experts where that one has.
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

// The config alone says so: some writers leave a copy of the target's embedding beside the head.
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
  const TestFolder folder;
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
  const TestFolder folder;
  folder.write("model.safetensors", safetensors_bytes({test_tensor("model.fc.weight", {2}),
                                                       test_tensor("fc.weight", {2})}));
  EXPECT_THAT(error_of([&] { head_weights(open_checkpoint(folder.path(), "auto", false)); }),
              HasSubstr("mean the same"));
}

// The target leaves these tensors alone.
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
}  // namespace foretoken
