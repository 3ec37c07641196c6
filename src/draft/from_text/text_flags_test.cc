#include "draft/from_text/text_flags.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(TextFlags, an_isolation_is_one_of_the_names_that_its_flag_takes) {
  const Flag flag = isolation_flag("--isolation");
  EXPECT_EQ(flag.choices, (std::vector<std::string_view>{"request", "key", "shared"}));
  EXPECT_EQ(isolation_named("request"), DraftIsolation::kRequest);
  EXPECT_EQ(isolation_named("key"), DraftIsolation::kKey);
  EXPECT_EQ(isolation_named("shared"), DraftIsolation::kShared);
  EXPECT_EQ(flag.default_value, "key");
}

}  // namespace
}  // namespace foretoken
