#include "spec/rest_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace foretoken {
namespace {

// Steps, at most so many, until the slot rests; -1: it does not.
int steps_until_rest(RestChoice& choice, SeqSlot slot, double gain, int most = 100) {
  for (int step = 0; step < most; ++step) {
    if (choice.rests(slot)) return step;
    choice.add_gain(slot, gain);
    choice.add_step();
  }
  return -1;
}

int sleep(RestChoice& choice, SeqSlot slot) {
  int steps = 0;
  for (; choice.rests(slot); ++steps) choice.add_step();
  return steps;
}

TEST(RestChoice, what_gains_is_never_put_to_rest) {
  RestChoice choice;
  choice.open(0);
  EXPECT_EQ(steps_until_rest(choice, 0, 0.2), -1);
}

TEST(RestChoice, what_loses_is_put_to_rest_after_a_trial) {
  RestChoice choice;
  choice.open(0);
  EXPECT_EQ(steps_until_rest(choice, 0, -0.3), 8);
}

TEST(RestChoice, what_loses_little_is_watched_longer) {
  RestChoice choice;
  choice.open(0);
  EXPECT_EQ(steps_until_rest(choice, 0, -0.0626), 16);
}

TEST(RestChoice, rests_grow_longer_the_more_often_waking_was_in_vain) {
  RestChoice choice;
  choice.open(0);
  std::vector<int> rests;
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(steps_until_rest(choice, 0, -1), 8);
    rests.push_back(sleep(choice, 0));
  }
  EXPECT_THAT(rests, testing::ElementsAre(56, 120, 248, 504, 1016, 1016, 1016, 1016));
}

TEST(RestChoice, all_are_tried_again_together) {
  RestChoice choice;
  for (const SeqSlot slot : {0, 1, 2}) choice.open(slot);
  for (const SeqSlot slot : {0, 1, 2}) steps_until_rest(choice, slot, -0.3);
  sleep(choice, 1);
  EXPECT_FALSE(choice.rests(0));
  EXPECT_FALSE(choice.rests(2));
}

TEST(RestChoice, a_text_that_drafts_well_again_starts_with_short_rests_again) {
  RestChoice choice;
  choice.open(0);
  for (int i = 0; i < 4; ++i) {
    steps_until_rest(choice, 0, -0.3);
    sleep(choice, 0);
  }
  EXPECT_EQ(steps_until_rest(choice, 0, 0.5, 2000), -1);
  EXPECT_GT(steps_until_rest(choice, 0, -0.5), 0);
  EXPECT_LE(sleep(choice, 0), 64);
}

TEST(RestChoice, good_times_make_the_next_rests_short_again) {
  RestChoice choice;
  choice.open(0);
  for (int i = 0; i < 6; ++i) {
    steps_until_rest(choice, 0, -1);
    sleep(choice, 0);
  }
  EXPECT_EQ(steps_until_rest(choice, 0, 0.5, 3000), -1);
  for (const int longest : {64, 128}) {
    EXPECT_GT(steps_until_rest(choice, 0, -1), 0);
    EXPECT_LE(sleep(choice, 0), longest);
  }
}

TEST(RestChoice, where_drafting_does_not_pay_new_sequences_rest_until_the_next_trial) {
  RestChoice choice;
  choice.open(0);
  for (int i = 0; i < 3; ++i) {
    steps_until_rest(choice, 0, -0.3);
    sleep(choice, 0);
  }
  steps_until_rest(choice, 0, -0.3);
  choice.open(1);
  EXPECT_TRUE(choice.rests(1));
  sleep(choice, 1);
  choice.open(2);
  EXPECT_FALSE(choice.rests(2));
}

TEST(RestChoice, one_tree_that_was_far_too_dear_puts_nothing_to_rest) {
  RestChoice choice;
  choice.open(0);
  choice.add_gain(0, -50);
  EXPECT_EQ(steps_until_rest(choice, 0, 0.5), -1);
  choice.open(1);
  EXPECT_FALSE(choice.rests(1));
}

TEST(RestChoice, a_slot_forgets_the_sequence_before) {
  RestChoice choice;
  choice.open(0);
  choice.open(1);
  steps_until_rest(choice, 0, -0.3);
  for (int i = 0; i < 500; ++i) choice.add_gain(1, 1);
  EXPECT_TRUE(choice.rests(0));
  choice.open(0);
  EXPECT_FALSE(choice.rests(0));
}

}  // namespace
}  // namespace foretoken
