#include "app/options/start_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/testing/resolve.h"

namespace foretoken {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(StartTable, says_what_is_served_where_and_with_which_drafts) {
  const auto table = start_table(resolve(
      {"--served-model-name", "mine", "--port", "1234", "--speculative-algorithm", "SUFFIX"}));
  EXPECT_THAT(table, Contains("  model    " + model_folder()));
  EXPECT_THAT(table, Contains("  name     mine"));
  EXPECT_THAT(table, Contains(testing::EndsWith(":1234")));
  EXPECT_THAT(table, Contains("  drafts   SUFFIX"));
  for (const std::string& line : table) EXPECT_EQ(line.find('\n'), std::string::npos) << line;
}

TEST(StartTable, says_so_where_nothing_is_drafted_and_keeps_secrets) {
  const auto table =
      start_table(resolve({"--api-key", "secret", "--speculative-algorithm", "none"}));
  EXPECT_THAT(table, Contains("  drafts   none"));
  EXPECT_THAT(table, testing::Not(Contains(HasSubstr("secret"))));
}

}  // namespace
}  // namespace foretoken
