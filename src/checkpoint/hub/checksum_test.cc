#include "checkpoint/hub/checksum.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/testing/test_folder.h"

namespace foretoken {
namespace {

// What `sha256sum` and `git hash-object` print.
TEST(Checksum, of_known_bytes) {
  const TestFolder folder;
  const auto file = folder.write("a", "hello\n");
  EXPECT_EQ(sum_of_file(file, SumKind::kSha256),
            "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03");
  EXPECT_EQ(sum_of_file(file, SumKind::kGitSha1), "ce013625030ba8dba906f756967f9e9ca394464a");
  const auto empty = folder.write("b", "");
  EXPECT_EQ(sum_of_file(empty, SumKind::kGitSha1), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  EXPECT_THROW(sum_of_file(folder.path() + "/none", SumKind::kSha256), Error);
}

TEST(Checksum, the_form_of_a_sum_names_its_kind) {
  EXPECT_EQ(kind_of_sum(std::string(64, 'a')), SumKind::kSha256);
  EXPECT_EQ(kind_of_sum(std::string(40, 'F')), SumKind::kGitSha1);
  EXPECT_EQ(kind_of_sum(std::string(40, 'g')), SumKind::kNone);
  EXPECT_EQ(kind_of_sum("abc-1"), SumKind::kNone);
}

}  // namespace
}  // namespace foretoken
