#include "tune/expected_acceptance.h"

#include <cmath>

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TopLogprob top(Token token, double chance) { return {token, static_cast<float>(std::log(chance))}; }

TEST(ExpectedAcceptance, chances_follow_the_temperature) {
  const std::vector<TopLogprob> all{top(3, 0.6), top(4, 0.3), top(5, 0.1)};
  EXPECT_NEAR(chance_at(all, 3, 1), 0.6, 1e-6);
  EXPECT_NEAR(chance_at(all, 5, 1), 0.1, 1e-6);
  EXPECT_EQ(chance_at(all, 6, 1), 0);
  const double half = 0.36 + 0.09 + 0.01;  // at one half chances are squared
  EXPECT_NEAR(chance_at(all, 3, 0.5), 0.36 / half, 1e-6);
  EXPECT_NEAR(chance_at(all, 3, 0.001), 1, 1e-6);
  EXPECT_EQ(chance_at({}, 3, 1), 0);
}

TEST(ExpectedAcceptance, what_is_not_listed_has_its_share) {
  const std::vector<TopLogprob> some{top(3, 0.5), top(4, 0.1)};  // and four more like the last
  EXPECT_NEAR(chance_at(some, 3, 1), 0.5, 1e-6);
  EXPECT_NEAR(chance_at(some, 3, 2), std::sqrt(0.5) / (std::sqrt(0.5) + 5 * std::sqrt(0.1)), 1e-6);
  const std::vector<TopLogprob> sure{{3, 0.0F}, {4, -INFINITY}};
  EXPECT_NEAR(chance_at(sure, 3, 1), 1, 1e-6);
}

// A tree of two levels: on the text the target's chances count, off it the draft model's.
TEST(ExpectedAcceptance, sums_the_chances_of_all_paths) {
  RecordedText text;
  text.output = {1, 3, 7};
  text.tops = {{}, {top(3, 0.6), top(4, 0.4)}, {top(7, 0.5), top(8, 0.5)}};
  const std::vector<Token> tokens{1, 3, 4, 7, 9, 5};
  const std::vector<std::int32_t> parents{-1, 0, 0, 1, 1, 2};
  const std::vector<float> scores{1, 0.7F, 0.2F, 0.35F, 0.1F, 0.05F};
  // 3: 0.6; 4: 0.4; 3 7: 0.6 * 0.5; 3 9: 0; 4 5: 0.4 * 0.05 / 0.2.
  EXPECT_NEAR(expected_acceptance(text, 1, tokens, parents, scores, 1), 0.6 + 0.4 + 0.3 + 0.1,
              1e-6);
  // Towards 0 it is what was accepted.
  EXPECT_NEAR(
      expected_acceptance(text, 1, std::vector<Token>{1, 3}, std::vector<std::int32_t>{-1, 0},
                          std::vector<float>{1, 0.7F}, 0.001),
      1, 1e-6);
}

TEST(ExpectedAcceptance, a_root_alone_accepts_nothing) {
  RecordedText text;
  text.output = {1};
  EXPECT_EQ(expected_acceptance(text, 1, std::vector<Token>{1}, std::vector<std::int32_t>{-1},
                                std::vector<float>{1}, 1),
            0);
}

}  // namespace
}  // namespace foretoken
