#include "checkpoint/hub/part_file.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/testing/test_folder.h"

namespace foretoken {
namespace {

using ::testing::ElementsAre;

std::span<const char> text(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

TEST(PartFile, is_taken_up_where_it_was_left) {
  const TestFolder folder;
  const std::string blob = folder.path() + "/blobs/sum";
  {
    PartFile part(blob, 8);
    part.write(2, text("cd"));
    part.write(6, text("gh"));
  }
  PartFile part(blob, 8);
  EXPECT_EQ(part.bytes(), 4);
  EXPECT_THAT(part.missing(100), ElementsAre(BlobRange{0, 2}, BlobRange{4, 6}));
  part.write(0, text("ab"));
  part.write(4, text("ef"));
  part.finish();
  EXPECT_EQ(read_file(blob), "abcdefgh");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path() + "/blobs"), {}), 1);
}

TEST(PartFile, notes_that_are_wrong_are_no_bytes) {
  const TestFolder folder;
  const std::string blob = folder.path() + "/sum";
  folder.write("sum.foretoken.ranges", "0 8\n");
  EXPECT_EQ(PartFile(blob, 8).bytes(), 0);  // the bytes are gone
  folder.write("sum.foretoken.incomplete", "abc");
  folder.write("sum.foretoken.ranges", "0 3\n");
  EXPECT_EQ(PartFile(blob, 8).bytes(), 3);
  folder.write("sum.foretoken.ranges", "0 99\n");
  EXPECT_EQ(PartFile(blob, 8).bytes(), 0);
}

TEST(PartFile, a_longer_part_ends_where_the_blob_does) {
  const TestFolder folder;
  const std::string blob = folder.path() + "/sum";
  folder.write("sum.foretoken.incomplete", "a longer one");
  PartFile part(blob, 3);
  part.write(0, text("abc"));
  part.finish();
  EXPECT_EQ(read_file(blob), "abc");
}

TEST(PartFile, a_folder_that_cannot_be_is_refused) {
  const TestFolder folder;
  folder.write("file", "x");
  EXPECT_THROW(PartFile(folder.path() + "/file/sum", 3), Error);
  EXPECT_THROW(PartFile(folder.path() + "/sum", std::int64_t{1} << 60), Error);
}

}  // namespace
}  // namespace foretoken
