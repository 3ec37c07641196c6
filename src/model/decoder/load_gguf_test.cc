// GGUF files of the models in tests/golden/checkpoints, written as llama.cpp's converter writes
// them: each answers as its safetensors do.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/backend.h"
#include "base/testing/test_folder.h"
#include "checkpoint/testing/gguf_models.h"
#include "checkpoint/testing/test_files.h"
#include "model/decoder/check_weights.h"
#include "model/decoder/load.h"
#include "model/decoder/rope.h"
#include "model/testing/gguf_converter.h"
#include "model/testing/whole_logits.h"

namespace foretoken {
namespace {

using testing::HasSubstr;

class LoadOneGguf : public testing::Test {
 protected:
  std::vector<float> logits_of(const std::string& path, const std::string& overrides = {},
                               const std::string& dtype = "float32") {
    return whole_logits(*ops_, path,
                        {.dtype = dtype, .config_overrides = overrides, .show_progress = false},
                        {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4});
  }

  TestFolder folder_;
  ThreadPool pool_{1, false};
  std::unique_ptr<Ops> ops_ = make_backend({.device = "reference"}, pool_);
};

class LoadGguf : public LoadOneGguf, public testing::WithParamInterface<GgufFamily> {};

TEST_P(LoadGguf, answers_as_the_checkpoint_that_it_was_made_of) {
  const GgufFamily& family = GetParam();
  folder_.write("model.gguf", gguf_of(family));
  const auto known = logits_of(folder_of(family));
  const std::string path = folder_.path() + "/model.gguf";
  const auto found = logits_of(path, family.unsaid);
  ASSERT_EQ(found.size(), known.size());
  check_weights(path, {.show_progress = false}, read_model_config(path, {}));
  for (std::size_t i = 0; i < known.size(); ++i)
    ASSERT_NEAR(found[i], known[i], family.rounding) << i;
}

TEST_P(LoadGguf, answers_nearly_so_from_blocks_of_8_bits) {
  const GgufFamily& family = GetParam();
  folder_.write("model.gguf", gguf_of(family, ""));
  const auto known = logits_of(folder_of(family));
  const auto found = logits_of(folder_.path() + "/model.gguf", family.unsaid);
  const double error = relative_error(found, known);
  EXPECT_GT(error, 0.0);
  EXPECT_LT(error, family.block_error);
}

// Factors of wavelengths are a tensor, as of all Llamas; the test below reads them.
constexpr const char* kLlama4Unsaid =
    R"({"attention_chunk_size":24,"no_rope_layer_interval":3,"floor_scale":16,"attn_scale":0.4,
        "rope_scaling":{"rope_type":"llama3","factor":16,"low_freq_factor":1,"high_freq_factor":1,
                        "original_max_position_embeddings":32}})";

INSTANTIATE_TEST_SUITE_P(
    Families, LoadGguf,
    testing::Values(
        GgufFamily{"llama", "llama", true}, GgufFamily{"llama_bias_tied", "llama", true},
        GgufFamily{"mistral", "llama", true}, GgufFamily{"qwen2", "qwen2"},
        GgufFamily{"qwen3", "qwen3"},
        GgufFamily{"smollm3", "smollm3", true, 0.0F, R"({"no_rope_layer_interval":2})"},
        GgufFamily{"granite", "granite", true, 0.0F, "", 1e-5F}, GgufFamily{"phi3", "phi3"},
        GgufFamily{"gemma2", "gemma2", false, 1.0F, R"({"query_pre_attn_scalar":24})", 1e-4F},
        GgufFamily{"gemma3", "gemma3", false, 1.0F,
                   R"({"query_pre_attn_scalar":24,"sliding_window_pattern":3})", 1e-4F},
        GgufFamily{"olmo2", "olmo2"}, GgufFamily{"olmo3", "olmo2"},
        GgufFamily{"glm4", "glm4", false, 0.0F, "", 0.0F, 16}, GgufFamily{"mixtral", "llama", true},
        GgufFamily{.folder = "mixtral", .architecture = "llama", .pairs = true, .is_older = true},
        GgufFamily{.folder = "llama4",
                   .architecture = "llama4",
                   .unsaid = kLlama4Unsaid,
                   .block_error = 0.06},
        GgufFamily{"seed_oss", "seed_oss"}, GgufFamily{"ernie4_5", "ernie4_5"},
        GgufFamily{"ernie4_5_bias", "ernie4_5"},
        GgufFamily{.folder = "exaone4",
                   .architecture = "exaone4",
                   .unsaid = R"({"sliding_window":8,"sliding_window_pattern":3})"},
        GgufFamily{"cohere", "command-r"},
        GgufFamily{.folder = "cohere2",
                   .architecture = "cohere2",
                   .unsaid = R"({"sliding_window_pattern":3})"},
        GgufFamily{"hunyuan_dense", "hunyuan-dense"}, GgufFamily{"qwen2_vl", "qwen2vl"},
        GgufFamily{"qwen2_5_vl", "qwen2vl"}, GgufFamily{"qwen3_vl", "qwen3vl"},
        GgufFamily{.folder = "qwen3_vl_moe", .architecture = "qwen3vlmoe", .block_error = 0.06},
        GgufFamily{"mistral", "mistral3", true}, GgufFamily{"mistral3", "mistral3", true},
        GgufFamily{"../drafts/targets/mimo", "qwen2"},
        GgufFamily{"qwen2_moe", "qwen2moe", false, 0.0F, "", 0.0F, 0, 0.05},
        GgufFamily{"qwen3_moe", "qwen3moe", false, 0.0F, "", 0.0F, 0, 0.05},
        GgufFamily{"olmoe", "olmoe"},
        GgufFamily{"gpt_oss", "gpt-oss", false, 0.0F, "", 0.0F, 0, 0.05},
        GgufFamily{"glm4_moe", "glm4moe", false, 0.0F, "", 1e-5F, 16},
        GgufFamily{"deepseek_v2", "deepseek2"},
        GgufFamily{.folder = "deepseek_v2", .architecture = "deepseek2", .splits_heads = true},
        GgufFamily{.folder = "deepseek_v2_bias", .architecture = "deepseek2", .splits_heads = true},
        GgufFamily{"deepseek_v3", "deepseek2"}, GgufFamily{"deepseek_v2_experts", "deepseek2"},
        GgufFamily{.folder = "deepseek_v3_experts",
                   .architecture = "deepseek2",
                   .block_error = 0.05,
                   .splits_heads = true},
        GgufFamily{.folder = "glm4_moe_lite_sparse",
                   .architecture = "deepseek2",
                   .block_error = 0.05,
                   .splits_heads = true},
        GgufFamily{.folder = "deepseek_v3_experts",
                   .architecture = "deepseek2",
                   .block_error = 0.05,
                   .is_older = true}),
    [](const auto& info) {
      const std::string folder = info.param.folder;
      std::string architecture = info.param.architecture;
      std::ranges::replace(architecture, '-', '_');
      return folder.substr(folder.rfind('/') + 1) + "_of_" + architecture +
             (info.param.splits_heads ? "_split" : "") + (info.param.is_older ? "_older" : "");
    });

// As most files have it: values in a type of their own, so that queries, keys and values are no
// one matrix where blocks are kept.
TEST_F(LoadOneGguf, answers_nearly_so_where_values_alone_are_of_8_bits) {
  const GgufFamily family{.folder = "qwen2", .architecture = "qwen2"};
  const auto known = logits_of(folder_of(family), {}, "bfloat16");
  folder_.write("model.gguf", gguf_of(family, "v_proj"));
  for (const char* device : {"reference", "cpu"}) {
    ops_ = make_backend({.device = device}, pool_);
    const auto found = logits_of(folder_.path() + "/model.gguf", {}, "bfloat16");
    const double error = relative_error(found, known);
    EXPECT_GT(error, 0.0);
    EXPECT_LT(error, 0.05) << device;
  }
}

// The converter writes Llama 3's scaling as a factor for each pair.
TEST(LoadGgufFiles, factors_stand_for_the_scaling_that_they_were_made_of) {
  constexpr double kTheta = 5000.0, kFactor = 8.0, kOriginal = 32.0;
  std::vector<float> factors;
  for (int pair = 0; pair < 8; ++pair) {
    const double wavelength = 2.0 * std::numbers::pi * std::pow(kTheta, pair / 8.0);
    const double smooth = std::clamp((kOriginal / wavelength - 1.0) / (4.0 - 1.0), 0.0, 1.0);
    factors.push_back(static_cast<float>(1.0 / ((1.0 - smooth) / kFactor + smooth)));
  }
  const TestFolder folder;
  GgufBytes file = gguf_keys("llama");
  file.floats("rope_freqs.weight", {8}, factors);
  file.floats("token_embd.weight", {8, 64}, std::vector<float>(512));
  folder.write("model.gguf", file.bytes());
  const ModelConfig made = read_model_config(folder.path() + "/model.gguf", {});
  ModelConfig known = made;
  known.rope = {};
  known.rope.kind = RopeScaling::Kind::kLlama3;
  known.rope.factor = kFactor;
  known.rope.original_max_position = static_cast<std::int64_t>(kOriginal);
  const auto found = rope_frequencies(made), expected = rope_frequencies(known);
  EXPECT_EQ(found.attention_factor, expected.attention_factor);
  ASSERT_EQ(found.inverse.size(), expected.inverse.size());
  for (std::size_t i = 0; i < found.inverse.size(); ++i)
    EXPECT_NEAR(found.inverse[i] / expected.inverse[i], 1.0, 1e-6) << i;
  EXPECT_EQ(made.context_length, 256);
}

TEST(LoadGgufFiles, what_cannot_be_served_is_named) {
  const TestFolder folder;
  const std::string path = folder.path() + "/model.gguf";
  ThreadPool pool(1, false);
  const auto ops = make_backend({.device = "reference"}, pool);
  const auto fault_of = [&](const GgufBytes& file) {
    folder.write("model.gguf", file.bytes());
    return error_of([&] { load_model(*ops, path, {.show_progress = false}); });
  };
  EXPECT_THAT(fault_of(gguf_keys("gemma3n")),
              AllOf(HasSubstr("this model architecture is not supported"), HasSubstr("gemma3n")));
  EXPECT_THAT(fault_of(gguf_keys("qwen3").u32("qwen3.expert_count", 8)),
              HasSubstr("has experts, and they are not supported"));
  EXPECT_THAT(fault_of(gguf_keys("qwen3moe")),
              HasSubstr("lacks a key (" + path + "): expected qwen3moe.expert_count"));
  GgufBytes flat = gguf_keys("qwen3moe").u32("qwen3moe.expert_count", 8);
  flat.floats("token_embd.weight", {8, 64}, std::vector<float>(512));
  flat.floats("blk.0.ffn_gate_exps.weight", {8, 64}, std::vector<float>(512));
  EXPECT_THAT(fault_of(flat), HasSubstr("not three-dimensional"));
  EXPECT_THAT(
      fault_of(
          gguf_keys("glm4moe").u32("glm4moe.expert_count", 8).u32("glm4moe.expert_gating_func", 1)),
      HasSubstr("expected 2, sigmoid"));
  GgufBytes twice = gguf_keys("llama").u32("llama.expert_count", 8);
  twice.floats("token_embd.weight", {8, 64}, std::vector<float>(512));
  twice.floats("blk.0.ffn_gate_exps.weight", {1, 8, 64}, std::vector<float>(512));
  twice.floats("blk.0.ffn_gate.0.weight", {8, 64}, std::vector<float>(512));
  EXPECT_THAT(fault_of(twice), HasSubstr("two for model.layers.0.block_sparse_moe.experts.0.w1"));
  EXPECT_THAT(fault_of(gguf_keys("mistral3").f32("mistral3.attention.temperature_scale", 0.5F)),
              HasSubstr("expected mistral3.rope.scaling.original_context_length"));
  const auto llama4 = [] { return gguf_keys("llama4").u32("llama4.expert_count", 8); };
  EXPECT_THAT(fault_of(llama4()), HasSubstr("expected llama4.expert_feed_forward_length"));
  EXPECT_THAT(fault_of(llama4().u32("llama4.attention.sliding_window", 0)),
              HasSubstr("llama4.attention.sliding_window): expected 8192, found 0"));
  EXPECT_THAT(fault_of(llama4().u32("llama4.attention.sliding_window_pattern", 2)),
              HasSubstr("llama4.attention.sliding_window_pattern): expected 4, found 2"));
  EXPECT_THAT(fault_of(gguf_keys("mimo2")), HasSubstr("found mimo2"));
  EXPECT_THAT(fault_of(gguf_keys("llama").u32("llama.nextn_predict_layers", 2)),
              HasSubstr("fewer than block_count = 2"));
  EXPECT_THAT(fault_of(GgufBytes().text("general.architecture", "llama")),
              HasSubstr("lacks a key (" + path + "): expected llama.embedding_length"));
  EXPECT_THAT(
      fault_of(gguf_keys("llama").tensor("token_embd.weight", 16, {8, 256}, std::string(528, 'x'))),
      HasSubstr("found IQ2_XXS"));
  GgufBytes uneven =
      gguf_keys("llama").floats("token_embd.weight", {8, 64}, std::vector<float>(512));
  uneven.floats("blk.0.attn_q.weight", {6, 1}, std::vector<float>(6));
  GgufBytes many =
      gguf_keys("granite").floats("token_embd.weight", {8, 64}, std::vector<float>(512));
  many.floats("blk.0.attn_q.weight", {2, 1}, std::vector<float>(2));
  EXPECT_THAT(fault_of(many), HasSubstr("for each of 4 heads"));
  EXPECT_THAT(fault_of(uneven), HasSubstr("tensor blk.0.attn_q.weight): expected an even number"));
}

}  // namespace
}  // namespace foretoken
