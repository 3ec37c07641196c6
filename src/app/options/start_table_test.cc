#include "app/options/start_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/testing/resolve.h"

namespace foretoken {
namespace {

using testing::HasSubstr;

TEST(StartTable, says_what_is_served_where_and_with_which_drafts) {
  const std::string table = start_table(resolve(
      {"--served-model-name", "mine", "--port", "1234", "--speculative-algorithm", "SUFFIX"}));
  EXPECT_THAT(table, HasSubstr("\n  model    /tmp\n"));
  EXPECT_THAT(table, HasSubstr("\n  name     mine\n"));
  EXPECT_THAT(table, HasSubstr(":1234\n"));
  EXPECT_THAT(table, HasSubstr("\n  drafts   SUFFIX"));
  EXPECT_LT(table.size(), 400U);
}

TEST(StartTable, says_so_where_nothing_is_drafted_and_keeps_secrets) {
  const std::string table = start_table(resolve({"--api-key", "secret"}));
  EXPECT_THAT(table, HasSubstr("\n  drafts   none"));
  EXPECT_THAT(table, testing::Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace foretoken
