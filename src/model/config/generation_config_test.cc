#include "model/config/generation_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/test_folder.h"
#include "checkpoint/testing/test_files.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(GenerationConfig, reads_what_is_there) {
  const auto config = GenerationConfig::parse(
      R"({"temperature":0.6,"top_k":20,"top_p":0.95,"eos_token_id":[3,4],"do_sample":true})", "g");
  EXPECT_EQ(config.temperature, 0.6);
  EXPECT_EQ(config.top_k, 20);
  EXPECT_EQ(config.top_p, 0.95);
  EXPECT_FALSE(config.min_p.has_value());
  EXPECT_FALSE(config.repetition_penalty.has_value());
  EXPECT_THAT(config.eos, ElementsAre(3, 4));
}

TEST(GenerationConfig, top_k_is_taken_as_it_stands_from_minus_one_on) {
  for (const int top_k : {-1, 0, 1, 2})
    EXPECT_EQ(GenerationConfig::parse(R"({"top_k":)" + std::to_string(top_k) + "}", "g").top_k,
              top_k);
  EXPECT_THAT(error_of([] { GenerationConfig::parse(R"({"top_k":-2})", "g.json"); }),
              HasSubstr("\"top_k\""));
}

TEST(GenerationConfig, an_absent_file_says_nothing) {
  const TestFolder folder;
  EXPECT_FALSE(read_generation_config(folder.path()).temperature.has_value());
  folder.write("generation_config.json", R"({"eos_token_id":[9,-1]})");
  EXPECT_THAT(read_generation_config(folder.path()).eos, ElementsAre(9));
}

TEST(GenerationConfig, answers_end_with_its_tokens_else_the_models_and_the_tokenizers) {
  const TestFolder folder;
  EXPECT_THAT(stop_tokens_of(folder.path(), {7, 2}, std::nullopt), ElementsAre(2, 7));
  EXPECT_THAT(stop_tokens_of(folder.path(), {7, 2}, 5), ElementsAre(2, 5, 7));
  folder.write("generation_config.json", R"({"eos_token_id":[9,5]})");
  EXPECT_THAT(stop_tokens_of(folder.path(), {7, 2}, 5), ElementsAre(5, 9));
  EXPECT_THAT(stop_tokens_of(folder.path(), {7, 2}, 6), ElementsAre(5, 6, 9));
}

TEST(GenerationConfig, bad_values_are_refused_by_name) {
  EXPECT_THAT(error_of([] { GenerationConfig::parse(R"({"top_p":"high"})", "g.json"); }),
              HasSubstr("bad value of \"top_p\" (g.json): expected a number, found \"high\""));
  EXPECT_THAT(error_of([] { GenerationConfig::parse("nonsense", "g.json"); }),
              HasSubstr("not valid JSON (g.json)"));
}

}  // namespace
}  // namespace foretoken
