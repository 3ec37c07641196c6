#include "model/heads/head_tensors.h"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/testing/test_source.h"
#include "model/testing/head_config_kit.h"

namespace foretoken::head_tensors_test {
namespace {

using namespace head_config_kit;
using testing::ElementsAre;
using testing::HasSubstr;

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

TEST(HeadTensors, a_head_of_another_width_brings_embedding_and_output_matrix) {
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

}  // namespace
}  // namespace foretoken::head_tensors_test
