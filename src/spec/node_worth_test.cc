#include "spec/node_worth.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

constexpr double kMilli = 1e-3;

// Steps of 4 ms and so much per row, and a token per round of 5 ms.
NodeWorth measured(double milliseconds_per_row) {
  NodeWorth worth;
  for (int i = 0; i < 50; ++i) {
    for (const int rows : {1, 2, 8, 16})
      worth.add_step(rows, (4 + rows * milliseconds_per_row) * kMilli);
    worth.add_round(1, 5 * kMilli);
    worth.add_level(1 * kMilli);
  }
  return worth;
}

TEST(NodeWorth, knowing_nothing_everything_is_worth_it) {
  EXPECT_EQ(NodeWorth().least_score(), 0.0F);
  EXPECT_TRUE(NodeWorth().is_level_worth(1e-6));
}

TEST(NodeWorth, a_draft_must_save_more_than_its_row_costs) {
  EXPECT_NEAR(measured(0.5).least_score(), 0.1, 1e-3);
  EXPECT_NEAR(measured(0.05).least_score(), 0.01, 1e-3);
  EXPECT_EQ(measured(0).least_score(), 0.0F);
}

TEST(NodeWorth, the_likeliest_are_always_tried) { EXPECT_EQ(measured(40).least_score(), 0.5F); }

TEST(NodeWorth, a_level_must_save_more_than_it_costs) {
  EXPECT_TRUE(measured(0.5).is_level_worth(0.21));
  EXPECT_FALSE(measured(0.5).is_level_worth(0.19));
}

TEST(NodeWorth, scores_are_trusted_as_far_as_they_came_true) {
  NodeWorth boasting = measured(0.5);
  for (int i = 0; i < 500; ++i) boasting.add_outcome(2.0, 1);
  EXPECT_NEAR(boasting.least_score(), 0.2, 0.02);
  for (int i = 0; i < 500; ++i) boasting.add_outcome(1.0, 1);
  EXPECT_NEAR(boasting.least_score(), 0.1, 0.01);
}

TEST(NodeWorth, a_slow_moment_of_the_machine_changes_little) {
  NodeWorth worth = measured(0.5);
  const float before = worth.least_score();
  worth.add_step(16, 1.0);
  worth.add_round(1, 1.0);
  EXPECT_NEAR(worth.least_score(), before, 0.02);
}

TEST(NodeWorth, large_batches_have_cells_of_their_own) {
  NodeWorth worth;
  for (int rows = 1; rows < 5000; rows += 37) worth.add_step(rows, (4 + rows * 0.5) * kMilli);
  worth.add_round(1, 5 * kMilli);
  EXPECT_NEAR(worth.least_score(), 0.1, 0.01);
}

}  // namespace
}  // namespace foretoken
