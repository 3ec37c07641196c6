#include "draft/from_text/match_odds.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(MatchOdds, longer_matches_and_larger_shares_are_believed_more_at_first) {
  const MatchOdds odds;
  float before = 0;
  for (int context = 1; context <= 20; ++context) {
    const float chance = odds.chance(MatchOdds::kind_of(context, 1.0F));
    EXPECT_GE(chance, before);
    before = chance;
  }
  EXPECT_LT(odds.chance(MatchOdds::kind_of(1, 1.0F)), odds.chance(MatchOdds::kind_of(20, 1.0F)));
  EXPECT_LT(odds.chance(MatchOdds::kind_of(6, 0.1F)), odds.chance(MatchOdds::kind_of(6, 0.9F)));
}

TEST(MatchOdds, every_match_is_of_some_kind) {
  const MatchOdds odds;
  for (const int context : {0, 1, 2, 11, 12, 255})
    for (const float share : {0.0F, 0.2F, 0.5F, 0.999F, 1.0F}) {
      const float chance = odds.chance(MatchOdds::kind_of(context, share));
      EXPECT_GT(chance, 0.0F);
      EXPECT_LE(chance, 1.0F);
    }
}

TEST(MatchOdds, what_happens_is_learned_by_kind_and_corrected) {
  MatchOdds odds;
  const auto kind = MatchOdds::kind_of(2, 0.5F), other = MatchOdds::kind_of(12, 0.5F);
  const float usual = odds.chance(other);
  for (int i = 0; i < 400; ++i) odds.add(kind, i % 4 != 0);
  EXPECT_NEAR(odds.chance(kind), 0.75F, 0.05F);
  EXPECT_EQ(odds.chance(other), usual);
  for (int i = 0; i < 1000; ++i) odds.add(kind, false);
  EXPECT_LT(odds.chance(kind), 0.05F);
}

}  // namespace
}  // namespace foretoken
