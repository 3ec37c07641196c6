#include "draft/pace/node_worth.h"

#include <utility>

#include <gtest/gtest.h>

namespace foretoken {
namespace {

constexpr double kMilli = 1e-3;

NodeWorth of_costs(double row_milliseconds) {
  NodeWorth worth;
  worth.set_costs(row_milliseconds * kMilli, 5 * kMilli);
  return worth;
}

TEST(NodeWorth, knowing_nothing_everything_is_worth_it) {
  EXPECT_EQ(NodeWorth().least_score(), 0.0F);
  EXPECT_TRUE(NodeWorth().is_level_worth(1e-6, kMilli));
}

TEST(NodeWorth, a_draft_must_save_more_than_its_row_costs) {
  EXPECT_NEAR(of_costs(0.5).least_score(), 0.1, 1e-3);
  EXPECT_NEAR(of_costs(0.05).least_score(), 0.01, 1e-3);
  EXPECT_EQ(of_costs(0).least_score(), 0.0F);
}

TEST(NodeWorth, the_likeliest_are_always_tried) { EXPECT_EQ(of_costs(40).least_score(), 0.9F); }

TEST(NodeWorth, bad_drafts_do_not_keep_likely_ones_from_being_tried) {
  for (const auto& [row, least] : {std::pair(2.0, 0.5F), std::pair(4.0, 0.8F)}) {
    NodeWorth boasting = of_costs(row);
    for (int i = 0; i < 500; ++i) boasting.add_outcome(4.0, 1);
    EXPECT_FLOAT_EQ(boasting.least_score(), least);
  }
}

TEST(NodeWorth, where_a_row_costs_what_a_token_does_no_draft_is_worth_it) {
  EXPECT_FLOAT_EQ(of_costs(1).break_even(), 0.2F);
  EXPECT_FLOAT_EQ(of_costs(6).break_even(), 1.2F);
  EXPECT_EQ(NodeWorth().break_even(), 0.0F);
}

TEST(NodeWorth, a_level_must_save_more_than_it_costs) {
  EXPECT_TRUE(of_costs(0.5).is_level_worth(0.21, kMilli));
  EXPECT_FALSE(of_costs(0.5).is_level_worth(0.19, kMilli));
}

TEST(NodeWorth, scores_are_trusted_as_far_as_they_came_true) {
  NodeWorth boasting = of_costs(0.5);
  for (int i = 0; i < 500; ++i) boasting.add_outcome(2.0, 1);
  EXPECT_NEAR(boasting.least_score(), 0.2, 0.02);
  for (int i = 0; i < 500; ++i) boasting.add_outcome(1.0, 1);
  EXPECT_NEAR(boasting.least_score(), 0.1, 0.01);
}

TEST(NodeWorth, levels_are_trusted_as_far_as_scores_came_true) {
  NodeWorth boasting = of_costs(0.5);
  EXPECT_TRUE(boasting.is_level_worth(0.3, kMilli));
  for (int i = 0; i < 500; ++i) boasting.add_outcome(2.0, 1);
  EXPECT_FALSE(boasting.is_level_worth(0.3, kMilli));
  EXPECT_TRUE(boasting.is_level_worth(0.5, kMilli));
}

}  // namespace
}  // namespace foretoken
