#include "draft/with_model/draft_loading.h"

#include <gtest/gtest.h>

#include "base/testing/test_folder.h"

namespace foretoken {
namespace {

TEST(DraftLoading, a_language_model_has_a_config_and_a_tokenizer) {
  const TestFolder folder;
  EXPECT_FALSE(is_language_model(folder.path()));
  folder.write("config.json", "{}");
  EXPECT_FALSE(is_language_model(folder.path()));
  folder.write("tokenizer.model", "");
  EXPECT_TRUE(is_language_model(folder.path()));
  const TestFolder other;
  other.write("tokenizer.json", "{}");
  EXPECT_FALSE(is_language_model(other.path()));
  EXPECT_FALSE(is_language_model(other.path() + "/missing"));
}

TEST(DraftLoading, a_head_is_known_by_its_architecture_and_by_having_no_tokenizer) {
  const TestFolder folder;
  folder.write("config.json", R"({"architectures": ["LlamaForCausalLMEagle3"]})");
  EXPECT_TRUE(is_head_called(folder.path(), "eagle3"));
  EXPECT_TRUE(is_head_called(folder.path(), ""));
  EXPECT_FALSE(is_head_called(folder.path(), "mimo"));
  folder.write("tokenizer.json", "{}");
  EXPECT_FALSE(is_head_called(folder.path(), "eagle3"));
}

}  // namespace
}  // namespace foretoken
