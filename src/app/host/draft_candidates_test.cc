#include "app/host/draft_candidates.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/test_folder.h"
#include "model/decoder/load.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kModels = FORETOKEN_SOURCE_DIR "/models/";

std::vector<DraftCandidate> find(const std::string& model, const std::string& cache,
                                 bool compares_tokens = true) {
  return find_draft_candidates({.model = model, .cache = cache, .compares_tokens = compares_tokens},
                               read_model_config(model, {}));
}

TEST(DraftCandidates, heads_and_smaller_models_lie_beside_the_demo) {
  std::vector<std::string> found;
  for (const auto& each : find(kModels + "demo", "/nowhere")) {
    EXPECT_EQ(each.fault, "");
    found.push_back(each.algorithm + " " + fs::path(each.path).filename().string());
  }
  EXPECT_THAT(found,
              ElementsAre("STANDALONE demo-draft", "EAGLE demo-eagle", "EAGLE3 demo-eagle3"));
}

TEST(DraftCandidates, what_is_wrong_with_one_is_said) {
  const TestFolder folder;
  fs::create_directory_symlink(kModels + "demo", folder.path() + "/demo");
  fs::copy(kModels + "demo-draft", folder.path() + "/other-vocabulary");
  folder.write("other-vocabulary/config.json",
               R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 8,
                   "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8,
                   "vocab_size": 100, "max_position_embeddings": 64})");
  fs::copy(kModels + "demo-eagle3", folder.path() + "/other-width");
  folder.write("other-width/config.json",
               R"({"architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama",
                   "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1,
                   "intermediate_size": 8, "vocab_size": 8192, "draft_vocab_size": 4096,
                   "max_position_embeddings": 64})");
  folder.write("broken/config.json", "{");
  folder.write("a.gguf", "no model");
  const auto found = find(folder.path() + "/demo", "/nowhere", false);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_THAT(found[0].fault, HasSubstr("vocabulary has 100 tokens"));
  EXPECT_THAT(found[1].path, HasSubstr("other-width"));
  EXPECT_THAT(found[1].fault, HasSubstr("hidden_size"));
}

TEST(DraftCandidates, models_of_the_hub_are_named_as_the_user_would) {
  const TestFolder folder;
  fs::create_directories(folder.path() + "/models");
  fs::create_directory_symlink(kModels + "demo", folder.path() + "/models/demo");
  folder.write("hub/models--o--small/refs/main", "abc");
  fs::create_directories(folder.path() + "/hub/models--o--small/snapshots");
  fs::copy(kModels + "demo-draft", folder.path() + "/hub/models--o--small/snapshots/abc");
  const auto found = find(folder.path() + "/models/demo", folder.path() + "/hub");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].path, "o/small");
  EXPECT_EQ(found[0].algorithm, "STANDALONE");
}

}  // namespace
}  // namespace foretoken
