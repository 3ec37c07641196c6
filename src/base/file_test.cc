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

TEST_F(ReadFileTest, a_file_is_replaced_as_a_whole_or_not_at_all) {
  EXPECT_FALSE(replace_file(folder_ / "some", {"one", std::string_view("\0two", 4)}));
  EXPECT_EQ(read_file(folder_ / "some"), std::string("one\0two", 7));
  EXPECT_FALSE(replace_file(folder_ / "some", {}));
  EXPECT_EQ(read_file(folder_ / "some"), "");
  std::filesystem::create_directory(folder_ / "taken");
  EXPECT_TRUE(replace_file(folder_ / "taken", {"x"}));
  EXPECT_EQ(replace_file(folder_ / "none/some", {"x"}), std::errc::no_such_file_or_directory);
  const auto left = std::distance(std::filesystem::directory_iterator(folder_), {});
  EXPECT_EQ(left, 2) << "parts are left";
}

}  // namespace
}  // namespace foretoken
