#include "draft/pace/rest_choice.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

// Of so many steps with this gain where they were drafted, those that were.
int drafted(RestChoice& choice, double gain, int steps, int sequences = 1) {
  int count = 0;
  for (int i = 0; i < steps; ++i) {
    choice.add_step(sequences);
    if (choice.rests()) continue;
    choice.add_gain(gain);
    ++count;
  }
  return count;
}

TEST(RestChoice, what_gains_is_drafted_but_for_a_plain_step_now_and_then) {
  RestChoice choice;
  EXPECT_EQ(drafted(choice, 0.2, 1280), 1265);
}

TEST(RestChoice, what_loses_is_put_to_rest_after_a_trial) {
  RestChoice choice;
  EXPECT_EQ(drafted(choice, -0.3, 200), 8);
}

TEST(RestChoice, a_trial_that_loses_much_is_cut_short) {
  RestChoice choice;
  EXPECT_EQ(drafted(choice, -9, 64), 2);
}

TEST(RestChoice, one_tree_that_was_far_too_dear_puts_nothing_to_rest) {
  RestChoice choice;
  choice.add_step(1);
  choice.add_gain(-50);
  EXPECT_GE(drafted(choice, 0.5, 128), 122);
}

TEST(RestChoice, trials_lose_a_hundredth_at_most) {
  for (const double loss : {0.02, 0.1, 0.3, 1.0}) {
    RestChoice choice;
    drafted(choice, -loss, 2000);
    EXPECT_LE(drafted(choice, -loss, 20000) * loss, 210) << loss;
  }
}

TEST(RestChoice, steps_that_do_not_count_bring_no_trial_nearer_and_tell_the_load) {
  RestChoice choice;
  drafted(choice, -0.3, 30);
  const int left = choice.steps_left();
  EXPECT_GT(left, 0);
  for (int i = 0; i < 5000; ++i) EXPECT_FALSE(choice.add_step(1, false));
  EXPECT_EQ(choice.steps_left(), left);
  EXPECT_TRUE(choice.add_step(64, false));
  EXPECT_TRUE(choice.add_step(1, false));
  choice.add_step(1);
  EXPECT_EQ(choice.steps_left(), left - 1);
}

TEST(RestChoice, what_begins_to_pay_is_found_by_a_trial) {
  RestChoice choice;
  drafted(choice, -0.3, 2000);
  drafted(choice, 0.5, 300);
  EXPECT_GE(drafted(choice, 0.5, 128), 127);
}

TEST(RestChoice, what_pays_no_longer_is_put_to_rest_however_long_it_paid) {
  RestChoice choice;
  drafted(choice, 0.5, 5000);
  EXPECT_LE(drafted(choice, -0.3, 200), 32);
}

TEST(RestChoice, every_load_is_judged_by_itself) {
  RestChoice choice;
  drafted(choice, 0.5, 500, 1);
  drafted(choice, -0.5, 500, 64);
  EXPECT_GE(drafted(choice, 0.5, 64, 1), 63);
  EXPECT_EQ(drafted(choice, -0.5, 64, 64), 0);
  choice.add_step(64);
  EXPECT_FALSE(choice.add_step(70)) << "about as many";
  EXPECT_TRUE(choice.add_step(3));
}

TEST(RestChoice, a_larger_load_rests_at_first_where_a_smaller_one_does) {
  RestChoice choice;
  drafted(choice, -0.5, 100, 4);
  EXPECT_EQ(drafted(choice, 0.5, 60, 32), 0);
  EXPECT_GT(drafted(choice, 0.5, 1000, 32), 400) << "but is tried";
  EXPECT_GT(drafted(choice, 0.5, 60, 1), 50);
}

// The same where all would gain as much as is guessed from few, of which an eighth is lost or won.
struct Tries {
  int few = 0, all = 0;
};
Tries tried(RestChoice& choice, double guess, double gain, int steps, int sequences) {
  Tries count;
  for (int i = 0; i < steps; ++i) {
    choice.add_step(sequences);
    if (choice.rests()) continue;
    ++(choice.few() > 0 ? count.few : count.all);
    if (choice.few() > 0)
      choice.add_guess(guess, guess / 8);
    else
      choice.add_gain(gain);
  }
  return count;
}

TEST(RestChoice, many_are_not_tried_where_few_show_a_loss) {
  RestChoice choice(true);
  const Tries count = tried(choice, -0.5, -0.5, 63, 64);
  EXPECT_EQ(count.all, 0);
  EXPECT_LE(count.few, 4);
  EXPECT_TRUE(choice.has_rested());
  EXPECT_EQ(choice.few(), 8) << "of the next trial";
}

TEST(RestChoice, whether_it_pays_is_decided_by_trying_all) {
  RestChoice pays(true), does_not(true);
  EXPECT_GE(tried(pays, 0.5, 0.5, 128, 64).all, 110);
  const Tries count = tried(does_not, 0.5, -0.5, 63, 64);
  EXPECT_LE(count.few, 4);
  EXPECT_EQ(count.all, 8);
}

TEST(RestChoice, a_guess_that_says_nothing_lets_all_be_tried) {
  RestChoice choice(true);
  int few = 0;
  for (; few < 32; ++few) {
    choice.add_step(32);
    if (choice.rests()) continue;
    if (choice.few() == 0) break;
    choice.add_guess(few % 2 == 0 ? 0.4 : -0.4, -0.05);
  }
  EXPECT_GE(few, 4);
  EXPECT_LE(few, 16);
}

TEST(RestChoice, few_sequences_are_tried_at_once) {
  RestChoice choice(true);
  choice.add_step(15);
  EXPECT_EQ(choice.few(), 0);
  choice.add_guess(-1, -1);
  EXPECT_GE(drafted(choice, 0.5, 64, 15), 58);
}

TEST(RestChoice, what_begins_to_pay_for_many_is_found_from_few) {
  RestChoice choice(true);
  tried(choice, -0.5, -0.5, 2000, 64);
  tried(choice, 0.5, 0.5, 300, 64);
  EXPECT_GE(tried(choice, 0.5, 0.5, 128, 64).all, 127);
}

TEST(CurrentMean, is_the_mean_and_knows_how_well) {
  CurrentMean mean;
  for (int i = 0; i < 400; ++i) mean.add(i % 2 == 0 ? 1 : 3);
  EXPECT_NEAR(mean.mean(), 2, 1e-9);
  EXPECT_NEAR(mean.error(), 1.0 / 20, 1e-3);
}

TEST(CurrentMean, forgets_what_the_newest_contradict) {
  CurrentMean mean;
  for (int i = 0; i < 400; ++i) mean.add(i % 2 == 0 ? 1 : 3);
  for (int i = 0; i < 12; ++i) mean.add(i % 2 == 0 ? 7 : 9);
  EXPECT_GT(mean.mean(), 5);
  EXPECT_LT(mean.count(), 20);
}

}  // namespace
}  // namespace foretoken
