// The vocabularies of real models in GGUF files against vectors of texts and ids. Skipped by name
// where they are absent. FORETOKEN_GGUF_VOCABULARIES names a folder like llama.cpp's models/:
// ggml-vocab-<name>.gguf beside ggml-vocab-<name>.gguf.inp and .out.

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "checkpoint/model_files.h"
#include "text/testing/tokenizer_vectors.h"
#include "text/tokenizer.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> vocabularies() {
  const char* folder = std::getenv("FORETOKEN_GGUF_VOCABULARIES");
  return folder == nullptr ? std::nullopt : std::optional<fs::path>(folder);
}

class GgufVocabularies : public testing::TestWithParam<const char*> {};

TEST_P(GgufVocabularies, texts_have_the_ids_of_the_vectors) {
  const auto folder = vocabularies();
  if (!folder) GTEST_SKIP() << "FORETOKEN_GGUF_VOCABULARIES is not set";
  const std::string path = (*folder / ("ggml-vocab-" + std::string(GetParam()) + ".gguf")).string();
  if (!fs::exists(path)) GTEST_SKIP() << path << " is absent";
  const Tokenizer tokenizer(*open_model_files(path));
  const auto texts = vector_texts(path + ".inp");
  const auto ids = vector_ids(path + ".out");
  ASSERT_EQ(texts.size(), ids.size());
  ASSERT_GT(texts.size(), 30U);
  for (std::size_t i = 0; i < texts.size(); ++i)
    EXPECT_EQ(*tokenizer.encode(texts[i], AddSpecial::kNo), ids[i]) << texts[i];
}

INSTANTIATE_TEST_SUITE_P(Real, GgufVocabularies,
                         testing::Values("command-r", "deepseek-coder", "deepseek-llm", "falcon",
                                         "gpt-2", "llama-bpe", "llama-spm", "mpt", "phi-3", "qwen2",
                                         "refact", "starcoder"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& letter : name)
                             if (letter == '-') letter = '_';
                           return name;
                         });

}  // namespace
}  // namespace foretoken
