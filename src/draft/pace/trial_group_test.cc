#include "draft/pace/trial_group.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

// Sequences that decode in the slots [first, end), then prompts that begin in [end, newest).
StepPlan plan_of(SeqSlot first, SeqSlot end, SeqSlot newest) {
  StepPlan plan;
  for (SeqSlot slot = first; slot < newest; ++slot)
    plan.entries.push_back({.slot = slot, .has_tree = true, .generated = slot < end ? 5 : 0});
  return plan;
}

TEST(TrialGroup, takes_prompts_that_begin_first_and_else_the_newest) {
  TrialGroup group;
  group.choose(plan_of(0, 10, 12), 4);
  EXPECT_EQ(group.size(), 4);
  for (const SeqSlot slot : {8, 9, 10, 11}) EXPECT_TRUE(group.has(slot)) << slot;
  EXPECT_FALSE(group.has(7));
  EXPECT_FALSE(group.has(-1));
  EXPECT_FALSE(group.has(99));
}

TEST(TrialGroup, who_is_in_it_stays_and_only_new_ones_follow) {
  TrialGroup group;
  group.choose(plan_of(0, 10, 10), 3);
  group.choose(plan_of(0, 8, 8), 3);
  EXPECT_EQ(group.size(), 1) << "8 and 9 have ended, and 7 is the last of those before";
  group.choose(plan_of(0, 8, 9), 3);
  EXPECT_EQ(group.size(), 2);
  EXPECT_TRUE(group.has(8));
  group.open(8);  // by another sequence
  EXPECT_FALSE(group.has(8));
  EXPECT_EQ(group.size(), 1);
}

TEST(TrialGroup, a_group_of_which_nobody_is_left_begins_anew) {
  TrialGroup group;
  group.choose(plan_of(4, 8, 8), 2);
  group.choose(plan_of(0, 4, 4), 2);
  EXPECT_EQ(group.size(), 2);
  EXPECT_TRUE(group.has(3));
}

TEST(TrialGroup, nobody_is_in_it_for_whom_no_model_drafts) {
  TrialGroup group;
  for (SeqSlot slot = 0; slot < 4; ++slot) {
    group.open(slot);
    if (slot != 1) group.spare(slot);
  }
  EXPECT_FALSE(group.spares_all(plan_of(0, 4, 4)));
  EXPECT_TRUE(group.spares_all(plan_of(2, 4, 4)));
  EXPECT_FALSE(group.spares_all(plan_of(2, 4, 6))) << "nothing is known of the others";
  group.choose(plan_of(0, 4, 4), 2);
  EXPECT_EQ(group.size(), 1);
  EXPECT_TRUE(group.has(1));
  group.open(2);  // by one that may be drafted for
  group.choose(plan_of(0, 2, 4), 2);
  EXPECT_TRUE(group.has(2));
}

TEST(TrialGroup, ends_where_all_are_tried) {
  TrialGroup group;
  group.choose(plan_of(0, 8, 8), 4);
  group.choose(plan_of(0, 8, 8), 0);
  EXPECT_EQ(group.size(), 0);
  EXPECT_FALSE(group.has(7));
}

}  // namespace
}  // namespace foretoken
