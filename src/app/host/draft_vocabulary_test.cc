#include "app/host/draft_vocabulary.h"

#include <string>

#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/testing/test_folder.h"

namespace foretoken {
namespace {

const std::string kDemo = FORETOKEN_SOURCE_DIR "/models/demo";

std::string with(std::string text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

class DraftVocabulary : public testing::Test {
 protected:
  DraftVocabulary() : json_(*read_file(kDemo + "/tokenizer.json")) {}

  Options drafting_with(const std::string& tokenizer) {
    draft_.write("tokenizer.json", tokenizer);
    draft_.write("tokenizer_config.json", "{}");
    Options options;
    options.load.model_folder = kDemo;
    options.draft.algorithm = "STANDALONE";
    options.draft.folder = draft_.path();
    return options;
  }

  const std::string json_;
  const TestFolder draft_;
};

TEST_F(DraftVocabulary, a_special_token_of_another_name_is_no_other_vocabulary) {
  const std::string renamed = with(json_, "<|pad|>", "<|filler|>");
  const Tokenizer target(kDemo);
  const Options options = drafting_with(renamed);
  EXPECT_NO_THROW(check_draft_vocabulary(target, options));
  const VocabularyDifference found = compare_vocabularies(target, Tokenizer(draft_.path()));
  EXPECT_EQ(found.tokens, 1);
  EXPECT_NE(found.first.find("<|filler|>"), std::string::npos) << found.first;
  EXPECT_EQ(compare_vocabularies(target, target).tokens, 0);
}

TEST_F(DraftVocabulary, another_vocabulary_is_refused_with_the_first_token_that_differs) {
  boost::json::value other = boost::json::parse(json_);
  for (auto& [text, id] : other.at("model").at("vocab").as_object())
    if (id.as_int64() >= 1000) id = 9191 - id.as_int64();  // 1000 to 8191, backwards
  const Options options = drafting_with(boost::json::serialize(other));
  const Tokenizer target(kDemo);
  try {
    check_draft_vocabulary(target, options);
    FAIL() << "it was taken";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("another vocabulary"), std::string::npos) << text;
    EXPECT_NE(text.find("token 1000"), std::string::npos) << text;
  }
}

TEST(VocabularyDifference, one_token_of_a_hundred_is_the_most_that_is_taken) {
  VocabularyDifference found{.of = 8192, .tokens = 81, .first = {}};
  EXPECT_FALSE(found.is_another());
  found.tokens = 82;
  EXPECT_TRUE(found.is_another());
}

}  // namespace
}  // namespace foretoken
