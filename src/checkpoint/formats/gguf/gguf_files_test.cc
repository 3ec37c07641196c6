#include "checkpoint/formats/gguf/gguf_files.h"

#include <chrono>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/test_folder.h"
#include "checkpoint/testing/gguf_models.h"
#include "checkpoint/testing/test_files.h"

namespace foretoken {
namespace {

using testing::HasSubstr;

class GgufFilesTest : public testing::Test {
 protected:
  GgufFiles files_of(const GgufBytes& file) const {
    folder_.write("model.gguf", file.bytes());
    return GgufFiles(path());
  }
  std::string path() const { return folder_.path() + "/model.gguf"; }

  TestFolder folder_;
};

GgufBytes byte_level() {
  GgufBytes file = gguf_keys("llama");
  return add_byte_level(file, "qwen2");
}

TEST_F(GgufFilesTest, those_of_the_vocabulary_s_kind_are_there) {
  const GgufFiles files = files_of(byte_level());
  for (const char* name :
       {"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"}) {
    EXPECT_TRUE(files.has(name)) << name;
    EXPECT_TRUE(files.read(name).has_value()) << name;
  }
  for (const char* name : {"tokenizer.model", "README.md", ""}) {
    EXPECT_FALSE(files.has(name)) << name;
    EXPECT_FALSE(files.read(name).has_value()) << name;
  }
}

TEST_F(GgufFilesTest, a_merge_is_two_pieces) {
  const auto fault = [&](const char* merge) {
    GgufBytes file;
    file.text("tokenizer.ggml.model", "gpt2").texts("tokenizer.ggml.tokens", {"a", "b"});
    const GgufFiles files = files_of(file.texts("tokenizer.ggml.merges", {merge}));
    return error_of([&] { files.read("tokenizer.json"); });
  };
  EXPECT_EQ(fault("a b"), "");
  EXPECT_EQ(fault("aa b"), "");
  for (const char* bad : {"ab", " a", "a ", "a b c", " "})
    EXPECT_THAT(fault(bad), HasSubstr("two pieces with a space between")) << bad;
}

TEST_F(GgufFilesTest, what_was_read_while_the_file_was_written_to_is_refused) {
  folder_.write("model.gguf", byte_level().bytes());
  std::filesystem::last_write_time(
      path(), std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  const GgufFiles files(path());
  EXPECT_EQ(error_of([&] { files.read("config.json"); }), "");
  std::fstream(path(), std::ios::in | std::ios::out) << "GGUF";
  EXPECT_THAT(error_of([&] { files.read("config.json"); }), HasSubstr("written to"));
}

}  // namespace
}  // namespace foretoken
