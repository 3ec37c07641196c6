// The tokenizers of real models against vectors of texts and ids, and against each other. Skipped
// where the shared data is absent: the files' licences do not let us copy them.

#include <algorithm>
#include <fstream>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "base/testing/test_folder.h"
#include "text/detokenizer.h"
#include "text/testing/test_tokenizers.h"
#include "text/testing/tokenizer_vectors.h"
#include "text/tokenizer.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

struct Model {
  std::string name;
  std::string vectors;
  std::vector<std::pair<std::string, std::string>>
      files;  // name in the folder, path in the shared data
};

const std::vector<Model>& models() {
  static const std::vector<Model> kModels = {
      {"llama2 tokenizer.json",
       "llama-spm",
       {{"tokenizer.json", "llama2/tokenizer.json"},
        {"tokenizer_config.json", "llama2/tokenizer_config.json"}}},
      {"llama2 tokenizer.model", "llama-spm", {{"tokenizer.model", "llama2/tokenizer.model"}}},
      {"llama3 tokenizer.json",
       "llama-bpe",
       {{"tokenizer.json", "llama3/derived_tokenizer.json"},
        {"tokenizer_config.json", "llama3/tokenizer_config.json"}}},
      {"llama3 merges",
       "llama-bpe",
       {{"vocab.json", "llama3/vocab.json"},
        {"merges.txt", "llama3/merges.txt"},
        {"tokenizer_config.json", "llama3/tokenizer_config.json"}}},
      {"qwen2 merges",
       "qwen2",
       {{"vocab.json", "qwen2/vocab.json"},
        {"merges.txt", "qwen2/merges.txt"},
        {"tokenizer_config.json", "qwen2/tokenizer_config.json"}}},
      {"qwen2.5 tokenizer.json",
       "qwen2",
       {{"tokenizer.json", "qwen2/derived_qwen2.5_tokenizer.json"},
        {"tokenizer_config.json", "qwen2/qwen2.5_tokenizer_config.json"}}},
      {"qwen3 tokenizer.json",
       "qwen2",
       {{"tokenizer.json", "qwen2/derived_qwen3_tokenizer.json"},
        {"tokenizer_config.json", "qwen2/qwen3_tokenizer_config.json"}}},
  };
  return kModels;
}

class ModelVectors : public testing::TestWithParam<Model> {
 protected:
  void SetUp() override {
    const auto shared = shared_data();
    if (!shared) GTEST_SKIP() << "the shared data is absent";
    for (const auto& [name, path] : GetParam().files)
      folder_.link(name, *shared / "tokenizers" / path);
    vectors_ = *shared / "tokenizers/vectors";
    tokenizer_.emplace(folder_.path());
  }

  void expect_ids() const;
  void expect_random_tokens_to_join() const;
  void expect_no_text_below_its_least() const;

  TestFolder folder_;
  fs::path vectors_;
  std::optional<Tokenizer> tokenizer_;
};

void ModelVectors::expect_ids() const {
  const auto texts = vector_texts(vectors_ / (GetParam().vectors + ".inp"));
  const auto ids = vector_ids(vectors_ / (GetParam().vectors + ".out"));
  ASSERT_EQ(texts.size(), ids.size());
  ASSERT_GT(texts.size(), 30U);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto tokens = tokenizer_->encode(texts[i], AddSpecial::kNo);
    ASSERT_TRUE(tokens);
    EXPECT_EQ(*tokens, ids[i]) << texts[i];
    EXPECT_EQ(tokenizer_->decode(*tokens, SpecialText::kKeep), texts[i]);
    EXPECT_LE(tokenizer_->least_tokens(texts[i]), tokens->size()) << texts[i];
  }
}

void ModelVectors::expect_random_tokens_to_join() const {
  ASSERT_NE(tokenizer_->piece_join(), PieceJoin::kContextual);
  std::mt19937 random(11);
  const auto ids = static_cast<unsigned>(tokenizer_->vocab_size());
  for (int round = 0; round < 400; ++round) {
    const SpecialText special = round % 2 == 0 ? SpecialText::kSkip : SpecialText::kKeep;
    Detokenizer detokenizer(*tokenizer_, special);
    std::vector<Token> tokens;
    std::string joined;
    for (std::size_t count = random() % 60; count > 0; --count) {
      // The first 300 ids hold the byte tokens of all these models.
      tokens.push_back(static_cast<Token>(random() % (random() % 2 == 0 ? 300 : ids)));
      joined += detokenizer.push(tokens.back());
    }
    ASSERT_EQ(joined + detokenizer.finish(), tokenizer_->decode(tokens, special));
  }
}

// A text of the longest tokens is where a bound from below would first be wrong.
void ModelVectors::expect_no_text_below_its_least() const {
  std::vector<Token> longest(static_cast<std::size_t>(tokenizer_->vocab_size()));
  std::iota(longest.begin(), longest.end(), 0);
  std::partial_sort(longest.begin(), longest.begin() + 500, longest.end(), [&](Token a, Token b) {
    return tokenizer_->piece(a).size() > tokenizer_->piece(b).size();
  });
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const Token one = longest[random() % 500];
    const bool repeats = round % 2 == 0;
    std::vector<Token> tokens;
    for (std::size_t count = random() % 30; count > 0; --count)
      tokens.push_back(repeats ? one : longest[random() % 500]);
    const std::string text = tokenizer_->decode(tokens, SpecialText::kKeep);
    ASSERT_LE(tokenizer_->least_tokens(text), tokenizer_->encode(text, AddSpecial::kNo)->size())
        << text;
  }
  std::string much;
  while (much.size() < 100'000) much += "The quick brown fox jumps over the lazy dog. ";
  EXPECT_GT(tokenizer_->least_tokens(much), 1000U) << "or it would refuse nothing";
}

// One test, because loading a tokenizer takes longest.
TEST_P(ModelVectors, texts_get_their_ids_and_random_tokens_join_to_the_decoding) {
  expect_ids();
  expect_random_tokens_to_join();
  expect_no_text_below_its_least();
}

INSTANTIATE_TEST_SUITE_P(Models, ModelVectors, testing::ValuesIn(models()), [](const auto& info) {
  std::string name = info.param.name;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
});

TEST(ModelFiles, sentencepiece_conversion_equals_the_published_tokenizer) {
  const auto shared = shared_data();
  if (!shared) GTEST_SKIP() << "the shared data is absent";
  TestFolder published;
  published.link("tokenizer.json", *shared / "tokenizers/llama2/tokenizer.json");
  TestFolder converted;
  converted.link("tokenizer.model", *shared / "tokenizers/llama2/tokenizer.model");
  const Tokenizer a(published.path());
  const Tokenizer b(converted.path());
  ASSERT_EQ(a.vocab_size(), b.vocab_size());
  std::ifstream questions(*shared / "prompts/mt_bench_question.jsonl");
  for (std::string line; std::getline(questions, line);) {
    ASSERT_EQ(*a.encode(line, AddSpecial::kNo), *b.encode(line, AddSpecial::kNo));
  }
}

TEST(ModelFiles, configs_decide_about_the_first_token) {
  const auto shared = shared_data();
  if (!shared) GTEST_SKIP() << "the shared data is absent";
  const auto first = [&](const std::string& json, const std::string& config) {
    TestFolder folder;
    folder.link("tokenizer.json", *shared / "tokenizers" / json);
    folder.link("tokenizer_config.json", *shared / "tokenizers" / config);
    return Tokenizer(folder.path()).encode("Hello", AddSpecial::kYes)->front();
  };
  EXPECT_EQ(first("llama2/tokenizer.json", "llama2/tokenizer_config.json"), 1);
  EXPECT_EQ(first("llama3/derived_tokenizer.json", "llama3/tokenizer_config.json"), 128000);
  EXPECT_EQ(first("qwen2/derived_qwen3_tokenizer.json", "qwen2/qwen3_tokenizer_config.json"), 9707)
      << "Qwen has no bos";
}

}  // namespace
}  // namespace foretoken
