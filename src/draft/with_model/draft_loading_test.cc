#include "draft/with_model/draft_loading.h"

#include <gtest/gtest.h>

#include "checkpoint/testing/test_files.h"

namespace foretoken {
namespace {

TEST(DraftLoading, a_language_model_has_a_config_and_a_tokenizer) {
  const TempFolder folder;
  EXPECT_FALSE(is_language_model(folder.path()));
  folder.write("config.json", "{}");
  EXPECT_FALSE(is_language_model(folder.path()));
  folder.write("tokenizer.model", "");
  EXPECT_TRUE(is_language_model(folder.path()));
  const TempFolder other;
  other.write("tokenizer.json", "{}");
  EXPECT_FALSE(is_language_model(other.path()));
  EXPECT_FALSE(is_language_model(other.path() + "/missing"));
}

TEST(DraftLoading, a_head_is_known_by_its_architecture_and_by_having_no_tokenizer) {
  const TempFolder folder;
  folder.write("config.json", R"({"architectures": ["LlamaForCausalLMEagle3"]})");
  EXPECT_TRUE(is_head_called(folder.path(), "eagle3"));
  EXPECT_TRUE(is_head_called(folder.path(), ""));
  EXPECT_FALSE(is_head_called(folder.path(), "mimo"));
  folder.write("tokenizer.json", "{}");
  EXPECT_FALSE(is_head_called(folder.path(), "eagle3"));
}

}  // namespace
}  // namespace foretoken
