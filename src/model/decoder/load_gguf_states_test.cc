// GGUF files of models whose layers partly keep a state, written as llama.cpp's converter
// writes them: each answers as the checkpoint in tests/golden/checkpoints that it was made of.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/backend.h"
#include "base/testing/test_folder.h"
#include "checkpoint/testing/gguf_models.h"
#include "checkpoint/testing/test_files.h"
#include "model/decoder/load.h"
#include "model/testing/gguf_state_converter.h"
#include "model/testing/whole_logits.h"

namespace foretoken {
namespace {

using testing::HasSubstr;

std::string golden_folder(const GgufStateFamily& family) {
  return std::string(FORETOKEN_SOURCE_DIR "/tests/golden/checkpoints/") + family.folder;
}

class LoadGgufStates : public testing::TestWithParam<GgufStateFamily> {
 protected:
  std::vector<float> logits_of(const std::string& path, const std::string& overrides = {},
                               const std::string& dtype = "float32") {
    std::vector<Token> tokens;  // over two borders of blocks
    for (int i = 0; i < 70; ++i) tokens.push_back(3 + (i * i + 5 * i) % 59);
    return whole_logits(*ops_, path,
                        {.dtype = dtype, .config_overrides = overrides, .show_progress = false},
                        tokens);
  }

  TestFolder folder_;
  ThreadPool pool_{1, false};
  std::unique_ptr<Ops> ops_ = make_backend({.device = "reference"}, pool_);
};

TEST_P(LoadGgufStates, answers_as_the_checkpoint_that_it_was_made_of) {
  const std::string folder = golden_folder(GetParam());
  folder_.write("model.gguf", state_gguf_of(GetParam(), folder));
  const auto known = logits_of(folder);
  const auto found = logits_of(folder_.path() + "/model.gguf", GetParam().unsaid);
  ASSERT_EQ(found.size(), known.size());
  EXPECT_LT(relative_error(found, known), 2e-6);
}

TEST_P(LoadGgufStates, answers_nearly_so_from_blocks_of_8_bits) {
  const std::string folder = golden_folder(GetParam());
  folder_.write("model.gguf", state_gguf_of(GetParam(), folder, true));
  const auto known = logits_of(folder);
  const auto found = logits_of(folder_.path() + "/model.gguf", GetParam().unsaid, "bfloat16");
  const double error = relative_error(found, known);
  EXPECT_GT(error, 1e-4);
  EXPECT_LT(error, GetParam().block_error);
}

INSTANTIATE_TEST_SUITE_P(
    Families, LoadGgufStates,
    testing::Values(
        GgufStateFamily{.folder = "qwen3_next", .architecture = "qwen3next", .block_error = 0.3},
        GgufStateFamily{
            .folder = "qwen3_next", .architecture = "qwen3next", .older = true, .block_error = 0.3},
        GgufStateFamily{.folder = "qwen3_5_moe", .architecture = "qwen35moe", .block_error = 0.3},
        GgufStateFamily{.folder = "lfm2_moe", .architecture = "lfm2moe", .block_error = 0.3},
        GgufStateFamily{.folder = "granite_hybrid_experts",
                        .architecture = "granitehybrid",
                        .block_error = 0.3},
        GgufStateFamily{"qwen3_5", "qwen35"}, GgufStateFamily{"lfm2", "lfm2"},
        GgufStateFamily{.folder = "lfm2_bias", .architecture = "lfm2", .older = true},
        GgufStateFamily{"granite_hybrid", "granitehybrid"},
        GgufStateFamily{"granite_hybrid_groups", "granitehybrid"},
        GgufStateFamily{"granite_hybrid_bias", "granitehybrid",
                        R"({"position_embedding_type":"rope","time_step_limit":[0.4,0.9]})"}),
    [](const auto& info) {
      return std::string(info.param.folder) + (info.param.older ? "_older" : "");
    });

// What a key says wrongly is named, and nothing aborts.
TEST(LoadGgufStatesFiles, what_cannot_be_served_is_named) {
  const TestFolder folder;
  const std::string path = folder.path() + "/model.gguf";
  const auto fault_of = [&](GgufBytes file) {
    file.floats("token_embd.weight", {8, 64}, std::vector<float>(512));
    folder.write("model.gguf", file.bytes());
    return error_of([&] { read_model_config(path, {}); });
  };
  const auto delta = [] {
    GgufBytes file = gguf_keys("qwen35");
    file.u32("qwen35.ssm.conv_kernel", 4).u32("qwen35.ssm.state_size", 16);
    return file.u32("qwen35.ssm.group_count", 2).u32("qwen35.ssm.time_step_rank", 4);
  };
  EXPECT_THAT(fault_of(gguf_keys("qwen35")), HasSubstr("expected qwen35.ssm.time_step_rank"));
  EXPECT_THAT(fault_of(delta()), HasSubstr("expected qwen35.ssm.inner_size"));
  EXPECT_THAT(fault_of(delta().u32("qwen35.ssm.inner_size", 30)), HasSubstr("a multiple of 4"));
  EXPECT_THAT(fault_of(delta().u32("qwen35.ssm.inner_size", 0)), HasSubstr("at least 1"));
  EXPECT_THAT(fault_of(delta().u32("qwen35.nextn_predict_layers", 2)),
              HasSubstr("fewer than block_count"));
  EXPECT_THAT(fault_of(delta()
                           .u32("qwen35.ssm.inner_size", 32)
                           .i32s("qwen35.attention.recurrent_layers", {1, 0})),
              HasSubstr("expected booleans"));
  EXPECT_THAT(fault_of(gguf_keys("lfm2")), HasSubstr("2 numbers, one for each layer"));
  EXPECT_THAT(fault_of(gguf_keys("lfm2").u32("lfm2.expert_count", 4)),
              HasSubstr("has experts, and they are not supported"));
}

}  // namespace
}  // namespace foretoken
