// GGUF files of models whose layers differ, written as llama.cpp's converter writes them from
// tests/golden/checkpoints: each answers as its safetensors do.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/backend.h"
#include "base/testing/test_folder.h"
#include "checkpoint/testing/test_files.h"
#include "model/decoder/load.h"
#include "model/testing/gguf_mixed_converter.h"
#include "model/testing/whole_logits.h"

namespace foretoken {
namespace {

using testing::HasSubstr;

std::string golden_folder(const std::string& name) {
  return std::string(FORETOKEN_SOURCE_DIR "/tests/golden/checkpoints/") + name;
}

class LoadMixedGguf : public testing::TestWithParam<const char*> {
 protected:
  std::vector<float> logits_of(const std::string& path) {
    return whole_logits(*ops_, path, {.dtype = "float32", .show_progress = false},
                        {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7});
  }

  TestFolder folder_;
  ThreadPool pool_{1, false};
  std::unique_ptr<Ops> ops_ = make_backend({.device = "reference"}, pool_);
};

TEST_P(LoadMixedGguf, answers_as_the_checkpoint_that_it_was_made_of) {
  folder_.write("model.gguf", mixed_gguf_of(golden_folder(GetParam())));
  const auto known = logits_of(golden_folder(GetParam()));
  const auto found = logits_of(folder_.path() + "/model.gguf");
  ASSERT_EQ(found.size(), known.size());
  for (std::size_t i = 0; i < known.size(); ++i) ASSERT_NEAR(found[i], known[i], 1e-4) << i;
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, LoadMixedGguf,
                         testing::Values("gemma4", "gemma4_unified", "gemma4_experts"),
                         [](const auto& info) { return std::string(info.param); });

TEST(MixedGguf, factors_that_scale_positions_are_refused) {
  TestFolder folder;
  folder.write("model.gguf", mixed_gguf_of(golden_folder("gemma4"), true));
  EXPECT_THAT(error_of([&] { read_model_config(folder.path() + "/model.gguf", {}); }),
              HasSubstr("factors of 1 or of 1e30"));
}

}  // namespace
}  // namespace foretoken
