#include "base/file.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/testing/test_folder.h"

namespace foretoken {
namespace {

class ReadFileTest : public testing::Test {
 protected:
  TestFolder folder_;
};

TEST_F(ReadFileTest, bytes_come_back_whole_and_nothing_is_nothing) {
  const std::string bytes("a\0\r\n\xFFz", 6);
  std::ofstream(folder_.file("some"), std::ios::binary) << bytes;
  std::ofstream(folder_.file("empty"), std::ios::binary);
  EXPECT_EQ(read_file(folder_.file("some")), bytes);
  EXPECT_EQ(read_file(folder_.file("empty")), "");
  EXPECT_EQ(read_file(folder_.file("none")), std::nullopt);
}

TEST_F(ReadFileTest, what_is_no_file_is_refused) { EXPECT_THROW(read_file(folder_.path()), Error); }

TEST_F(ReadFileTest, a_file_is_replaced_as_a_whole_or_not_at_all) {
  EXPECT_FALSE(replace_file(folder_.file("some"), {"one", std::string_view("\0two", 4)}));
  EXPECT_EQ(read_file(folder_.file("some")), std::string("one\0two", 7));
  EXPECT_FALSE(replace_file(folder_.file("some"), {}));
  EXPECT_EQ(read_file(folder_.file("some")), "");
  std::filesystem::create_directory(folder_.file("taken"));
  EXPECT_TRUE(replace_file(folder_.file("taken"), {"x"}));
  EXPECT_EQ(replace_file(folder_.file("none/some"), {"x"}), std::errc::no_such_file_or_directory);
  const auto left = std::distance(std::filesystem::directory_iterator(folder_.path()), {});
  EXPECT_EQ(left, 2) << "parts are left";
}

}  // namespace
}  // namespace foretoken
