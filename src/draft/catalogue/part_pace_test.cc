#include "draft/catalogue/part_pace.h"

#include <array>

#include <gtest/gtest.h>

namespace foretoken {
namespace {

class Strict final : public DraftPace {
 public:
  bool rests(SeqSlot slot) const override { return slot == 1; }
  bool sleeps(SeqSlot) const override { return all_sleep; }
  float least_score() const override { return 0.2F; }
  bool is_level_worth(int rows, double promised) const override { return promised > rows; }
  void rate(int, std::span<float> probabilities) const override { probabilities[0] = 0.5F; }
  void end_forward(int rows) override { computed += rows; }
  int computed = 0;
  bool all_sleep = false;
};

TEST(PartPace, rests_where_all_do_and_where_it_is_spared) {
  Strict all;
  PartPace pace(all, 3);
  EXPECT_FALSE(pace.rests(0));
  EXPECT_TRUE(pace.rests(1));
  pace.assign(2, PartPace::Duty::kSpared);
  EXPECT_TRUE(pace.rests(2));
  pace.assign(2, PartPace::Duty::kDrafts);
  EXPECT_FALSE(pace.rests(2));
}

TEST(PartPace, sleeps_where_all_do_and_for_requests_that_it_never_drafts_for) {
  Strict all;
  PartPace pace(all, 2);
  pace.assign(0, PartPace::Duty::kSpared);
  EXPECT_FALSE(pace.sleeps(0)) << "it may be asked in the next step";
  pace.assign(0, PartPace::Duty::kNever);
  EXPECT_TRUE(pace.sleeps(0));
  EXPECT_TRUE(pace.rests(0));
  EXPECT_FALSE(pace.sleeps(1));
  EXPECT_FALSE(pace.sleeps(kNoSlot));
  all.all_sleep = true;
  EXPECT_TRUE(pace.sleeps(1));
  EXPECT_TRUE(pace.sleeps(kNoSlot));
}

TEST(PartPace, what_all_ask_of_chances_is_asked_of_its_scores) {
  Strict all;
  PartPace pace(all, 1);
  EXPECT_FLOAT_EQ(pace.least_score(), 0.2F);
  for (int i = 0; i < 1000; ++i) pace.trust().add(4, 2);  // half of what it says
  EXPECT_NEAR(pace.trust().factor(), 0.5, 0.02);
  EXPECT_NEAR(pace.least_score(), 0.4F, 0.02F);
  EXPECT_FALSE(pace.is_level_worth(1, 1.8));
  EXPECT_TRUE(pace.is_level_worth(1, 2.2));
}

TEST(PartPace, work_is_told_to_the_pace_of_all) {
  Strict all;
  PartPace pace(all, 1);
  std::array<float, 1> chance{1};
  pace.rate(0, chance);
  EXPECT_EQ(chance[0], 0.5F);
  pace.end_forward(7);
  EXPECT_EQ(all.computed, 7);
}

}  // namespace
}  // namespace foretoken
