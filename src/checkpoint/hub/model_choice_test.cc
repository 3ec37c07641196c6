#include "checkpoint/hub/model_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace foretoken {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal(const std::vector<std::string>& names, const std::string& quant = {}) {
  try {
    choose_model("o/n", names, quant);
  } catch (const Error& fault) {
    return fault.what();
  }
  return "no error";
}

TEST(ModelChoice, safetensors_go_before_all_other_weights) {
  const auto choice = choose_model(
      "o/n",
      {"README.md", "config.json", "model-2.safetensors", "model-1.safetensors", "n-Q8_0.gguf",
       "pytorch_model.bin", "original/model.safetensors", "consolidated.safetensors",
       "tokenizer.model", "trainer_state.json", "additional_chat_templates/tools.jinja",
       "sub/config.json", "merges.txt", "LICENSE.txt", "adapter_model.safetensors"},
      "");
  EXPECT_THAT(choice.files,
              ElementsAre("additional_chat_templates/tools.jinja", "config.json", "merges.txt",
                          "model-1.safetensors", "model-2.safetensors", "tokenizer.model"));
  EXPECT_EQ(choice.gguf, "");
}

TEST(ModelChoice, then_pytorch_then_gguf) {
  EXPECT_THAT(choose_model("o/n", {"training_args.bin", "pytorch_model.bin", "x.gguf"}, "").files,
              ElementsAre("pytorch_model.bin"));
  EXPECT_EQ(choose_model("o/n", {"x.gguf", "config.json"}, "").gguf, "x.gguf");
  EXPECT_THAT(choose_model("o/n", {"x.gguf", "config.json"}, "").files, ElementsAre("x.gguf"));
  EXPECT_THAT(refusal({"config.json", "a.onnx"}), HasSubstr("found 2 other files"));
  EXPECT_THAT(refusal({}), HasSubstr("found no file"));
}

TEST(ModelChoice, a_quantization_is_a_word_of_the_name) {
  const std::vector<std::string> names = {"n-Q4_K.gguf", "n-Q4_K_M.gguf", "n.q5_0.gguf",
                                          "model.safetensors"};
  EXPECT_EQ(choose_model("o/n", names, "Q4_K").gguf, "n-Q4_K.gguf");
  EXPECT_EQ(choose_model("o/n", names, "q4_k_m").gguf, "n-Q4_K_M.gguf");
  EXPECT_EQ(choose_model("o/n", names, "Q5_0").gguf, "n.q5_0.gguf");
  EXPECT_THAT(refusal(names, "K_M"), HasSubstr("no quantization K_M"));
  EXPECT_THAT(refusal(names, "Q8_0"), HasSubstr("found Q4_K, Q4_K_M, Q5_0"));
  EXPECT_THAT(refusal({"model.safetensors"}, "Q8_0"), HasSubstr("found no GGUF file"));
}

TEST(ModelChoice, the_usual_quantization_or_the_only_one) {
  EXPECT_EQ(choose_model("o/n", {"n-Q8_0.gguf", "n-Q4_K_M.gguf"}, "").gguf, "n-Q4_K_M.gguf");
  EXPECT_EQ(choose_model("o/n", {"n-Q8_0.gguf", "mmproj-n.gguf"}, "").gguf, "n-Q8_0.gguf");
  EXPECT_THAT(refusal({"n-Q8_0.gguf", "n-Q2_K.gguf"}), HasSubstr("found Q2_K, Q8_0"));
  EXPECT_THAT(refusal({"a-Q4_K_M.gguf", "b-Q4_K_M.gguf"}),
              HasSubstr("found a-Q4_K_M.gguf, b-Q4_K_M.gguf"));
}

TEST(ModelChoice, all_parts_or_none) {
  const std::string first = "Q6_K/n-Q6_K-00001-of-00002.gguf",
                    second = "Q6_K/n-Q6_K-00002-of-00002.gguf";
  const auto choice = choose_model("o/n", {second, first, "n-Q2_K.gguf"}, "Q6_K");
  EXPECT_EQ(choice.gguf, first);
  EXPECT_THAT(choice.files, ElementsAre(first, second));
  EXPECT_THAT(refusal({second}, "Q6_K"), HasSubstr("expected 2 parts, found 1"));
}

TEST(ModelChoice, names_of_quantizations) {
  EXPECT_EQ(quant_of("a/b-Q4_K_M.gguf"), "Q4_K_M");
  EXPECT_EQ(quant_of("b.q8_0.gguf"), "Q8_0");
  EXPECT_EQ(quant_of("b-IQ4_XS-00001-of-00002.gguf"), "IQ4_XS");
  EXPECT_EQ(quant_of("Qwen3-0.6B-UD-Q4_K_XL.gguf"), "UD-Q4_K_XL");
  EXPECT_EQ(quant_of("b-f16.gguf"), "F16");
  EXPECT_EQ(quant_of("Q4_K/model.gguf"), "");
  EXPECT_EQ(quant_of("model.gguf"), "");
}

}  // namespace
}  // namespace foretoken
