#include "base/error.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(Error, says_what_where_expected_and_found) {
  const Error error(
      {.what = "wrong shape", .where = "q.weight", .expected = "[2, 3]", .found = "[3, 2]"});
  EXPECT_STREQ(error.what(), "wrong shape (q.weight): expected [2, 3], found [3, 2]");
  EXPECT_EQ(error.parts().where, "q.weight");
}

TEST(Error, leaves_out_what_is_unknown) {
  EXPECT_STREQ(Error("no memory").what(), "no memory");
  EXPECT_STREQ(Error({.what = "no file", .where = "a.json", .expected = {}, .found = {}}).what(),
               "no file (a.json)");
}

Result<int> half(int x) {
  if (x % 2 != 0) return Refusal{"odd", 422};
  return x / 2;
}

TEST(Result, holds_a_value_or_a_refusal) {
  const auto good = half(4);
  ASSERT_TRUE(good);
  EXPECT_EQ(*good, 2);
  const auto bad = half(3);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.refusal().message, "odd");
  EXPECT_EQ(bad.refusal().status, 422);
}

TEST(CheckDeathTest, a_failed_check_says_where_and_why) {
  EXPECT_DEATH(CHECK(1 > 2) << "seven " << 7, "error_test.cc:[0-9]+.*1 > 2.*seven 7");
}

TEST(Check, a_check_that_holds_evaluates_nothing_more) {
  int evaluated = 0;
  CHECK(true) << ++evaluated;
  EXPECT_EQ(evaluated, 0);
}

}  // namespace
}  // namespace foretoken
