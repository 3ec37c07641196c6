#include "draft/pace/linear_cost.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(LinearCost, knows_nothing_at_first) {
  EXPECT_EQ(LinearCost().per_row(), 0.0);
  EXPECT_EQ(LinearCost().fixed(), 0.0);
}

TEST(LinearCost, of_one_size_alone_the_rows_of_a_large_batch_are_what_costs) {
  LinearCost few, many;
  for (int i = 0; i < 5; ++i) few.add(4, 2.0), many.add(624, 64.0);
  EXPECT_NEAR(few.fixed(), 1.6, 1e-9);
  EXPECT_NEAR(few.per_row(), 0.1, 1e-9);
  EXPECT_NEAR(many.per_row(), 0.1, 1e-9);
}

TEST(LinearCost, finds_the_line) {
  LinearCost cost;
  for (int rows = 1; rows < 5000; rows += 37) cost.add(rows, 4 + rows * 0.5);
  EXPECT_NEAR(cost.per_row(), 0.5, 0.05);
  EXPECT_NEAR(cost.fixed(), 4.0, 1.0);
}

TEST(LinearCost, no_rows_never_cost_less_than_nothing) {
  LinearCost cost;
  cost.add(1, 0.5);
  cost.add(16, 20);
  EXPECT_EQ(cost.fixed(), 0.0);
  EXPECT_GT(cost.per_row(), 0.0);
}

TEST(LinearCost, a_slow_moment_changes_little) {
  LinearCost cost;
  for (int i = 0; i < 50; ++i)
    for (const int rows : {1, 2, 8, 16}) cost.add(rows, 4 + rows * 0.5);
  cost.add(16, 1000);
  EXPECT_NEAR(cost.per_row(), 0.5, 0.05);
}

TEST(LinearCost, what_began_with_a_slow_moment_begins_anew) {
  LinearCost cost;
  cost.add(8, 1000);
  cost.add(8, 4);
  EXPECT_EQ(cost.of(8), 4.0);
}

TEST(LinearCost, sizes_that_are_far_apart_tell_what_a_row_costs_at_least) {
  LinearCost one, near, far;
  for (int i = 0; i < 8; ++i) {
    for (LinearCost* cost : {&one, &near, &far}) cost->add(16, 12);
    near.add(17, 12.5);
    far.add(64, 36);
  }
  EXPECT_EQ(one.least_per_row(), 0.0);
  EXPECT_EQ(near.least_per_row(), 0.0);
  EXPECT_GT(far.least_per_row(), 0.25);
  EXPECT_LT(far.least_per_row(), far.per_row());
}

}  // namespace
}  // namespace foretoken
