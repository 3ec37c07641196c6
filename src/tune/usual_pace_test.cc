#include "tune/usual_pace.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(UsualPace, is_of_the_mean_without_the_extremes) {
  EXPECT_DOUBLE_EQ(usual_pace({9, 0.25, 0.125}), 4);
  EXPECT_DOUBLE_EQ(usual_pace({0.5, 100, 0.25, 0.25, 0.001}), 3);
}

TEST(UsualPaceDeath, of_two_rounds_nothing_is_usual) {
  EXPECT_DEATH(usual_pace({1, 2}), "2 rounds");
}

}  // namespace
}  // namespace foretoken
