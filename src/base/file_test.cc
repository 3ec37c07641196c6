#include "base/file.h"

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "base/error.h"

namespace foretoken {
namespace {

class ReadFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "foretoken_file_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

TEST_F(ReadFileTest, bytes_come_back_whole_and_nothing_is_nothing) {
  const std::string bytes("a\0\r\n\xFFz", 6);
  std::ofstream(folder_ / "some", std::ios::binary) << bytes;
  std::ofstream(folder_ / "empty", std::ios::binary);
  EXPECT_EQ(read_file(folder_ / "some"), bytes);
  EXPECT_EQ(read_file(folder_ / "empty"), "");
  EXPECT_EQ(read_file(folder_ / "none"), std::nullopt);
}

TEST_F(ReadFileTest, what_is_no_file_is_refused) { EXPECT_THROW(read_file(folder_), Error); }

}  // namespace
}  // namespace foretoken
