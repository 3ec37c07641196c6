// The file of compiled shaders: what was written is read, and whatever else lies there is ignored.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "backend/testing/gpu_test_kit.h"
#include "backend/vulkan/context.h"
#include "backend/vulkan/pipeline_file.h"
#include "base/log.h"

namespace foretoken::pipeline_file_test {
namespace {

namespace fs = std::filesystem;

class PipelineFileTest : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string text_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void put(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }

  const std::string folder_ = testing::TempDir() + "pipelines." + std::to_string(getpid());
  const std::vector<std::byte> data_ = std::vector<std::byte>(1001, std::byte{7});
};

TEST_F(PipelineFileTest, what_was_written_is_read) {
  const PipelineFile file(folder_ + "/deep/er", 5);
  EXPECT_TRUE(file.read().empty());
  EXPECT_TRUE(file.write(data_));
  EXPECT_EQ(PipelineFile(folder_ + "/deep/er", 5).read(), data_);
  EXPECT_TRUE(PipelineFile(folder_ + "/deep/er", 6).read().empty());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ + "/deep/er"), {}), 1) << "parts are left";
}

TEST_F(PipelineFileTest, without_a_folder_nothing_is_kept) {
  const PipelineFile file("", 5);
  EXPECT_FALSE(file.write(data_));
  EXPECT_TRUE(file.read().empty());
  EXPECT_EQ(file.path(), "");
}

TEST_F(PipelineFileTest, damaged_and_foreign_files_are_ignored_and_written_anew) {
  const PipelineFile file(folder_, 5), other(folder_, 6);
  ASSERT_TRUE(file.write(data_) && other.write(data_));
  const std::string whole = text_of(file.path());
  std::string flipped = whole;
  flipped[500] = 8;
  for (const std::string& found : {std::string(), whole.substr(0, 20), whole.substr(0, 900),
                                   whole + "x", "x" + whole, flipped, text_of(other.path())}) {
    put(file.path(), found);
    EXPECT_TRUE(file.read().empty()) << found.size();
    EXPECT_TRUE(file.write(data_));
    EXPECT_EQ(file.read(), data_);
  }
  fs::remove(file.path());
  fs::create_directory(file.path());
  EXPECT_TRUE(file.read().empty());
  EXPECT_FALSE(file.write(data_));
}

TEST_F(PipelineFileTest, its_size_is_bounded) {
  const PipelineFile file(folder_, 5);
  ASSERT_TRUE(file.write(data_));
  EXPECT_FALSE(file.write(std::vector<std::byte>(PipelineFile::kMostBytes + 1)));
  EXPECT_EQ(file.read(), data_);
  fs::resize_file(file.path(), PipelineFile::kMostBytes + 1000);  // a hole
  EXPECT_TRUE(file.read().empty());
}

TEST_F(PipelineFileTest, a_device_keeps_what_it_compiled) {
  if (const std::string why_not = why_no_test_device(); !why_not.empty()) GTEST_SKIP() << why_not;
  const VulkanOptions options{.device = test_device(), .cache_folder = folder_};
  std::string path;
  {
    VulkanContext context(options);
    path = context.pipelines.file().path();
    context.pipelines.of(Shader::kRead);
    for (int i = 0; i < 64; ++i) context.pipelines.step();
    EXPECT_FALSE(fs::exists(path)) << "steps may still compile";
    context.pipelines.step();
    EXPECT_TRUE(fs::exists(path));
    fs::remove(path);
    for (int i = 0; i < 100; ++i) context.pipelines.step();
    EXPECT_FALSE(fs::exists(path)) << "nothing new";
    context.pipelines.of(Shader::kKvMove);
  }
  EXPECT_TRUE(fs::exists(path)) << "what is new is kept at the end";
  EXPECT_FALSE(PipelineFile(folder_, 0).path() == path);
  VulkanContext again(options);
  EXPECT_EQ(again.pipelines.file().path(), path);
  EXPECT_FALSE(again.pipelines.file().read().empty());
  EXPECT_NE(again.pipelines.of(Shader::kRead).pipeline, VkPipeline(VK_NULL_HANDLE));
}

}  // namespace
}  // namespace foretoken::pipeline_file_test
