#include "draft/draft_report.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

DraftReport of(int steps, int drafted, int unwished, int rested, DraftTally drafts = {}) {
  DraftReport report;
  report.by_drafter[1] = drafts;
  report.steps = steps;
  report.drafted = drafted;
  report.unwished = unwished;
  report.rested = rested;
  return report;
}

TEST(DraftReport, what_came_since_is_the_rest_of_the_sum) {
  DraftReport before = of(10, 4, 1, 5, {.proposed = 8, .accepted = 6});
  before.predictions = {.proposed = 30, .accepted = 20};
  before.greedy_rows = 11;
  before.coupled_rows = 12;
  DraftReport news = of(7, 2, 3, 2, {.proposed = 5, .accepted = 1});
  news.predictions = {.proposed = 4, .accepted = 3};
  news.greedy_rows = 6;
  news.coupled_rows = 9;
  DraftReport all = before;
  all.add(news);
  const DraftReport since = all.since(before);
  EXPECT_EQ(since.steps, 7);
  EXPECT_EQ(since.drafted, 2);
  EXPECT_EQ(since.unwished, 3);
  EXPECT_EQ(since.rested, 2);
  EXPECT_EQ(since.by_drafter[1].proposed, 5);
  EXPECT_EQ(since.by_drafter[1].accepted, 1);
  EXPECT_EQ(since.predictions.proposed, 4);
  EXPECT_EQ(since.predictions.accepted, 3);
  EXPECT_EQ(since.greedy_rows, 6);
  EXPECT_EQ(since.coupled_rows, 9);
}

TEST(DraftReport, where_most_steps_had_drafts_there_is_nothing_to_explain) {
  EXPECT_EQ(of(0, 0, 0, 0).reason(), "");
  EXPECT_EQ(of(10, 5, 0, 5).reason(), "");
}

TEST(DraftReport, says_in_a_word_why_little_was_drafted) {
  EXPECT_EQ(of(10, 0, 10, 0).reason(), "request");
  EXPECT_EQ(of(10, 0, 0, 10).reason(), "cost") << "others rest, so does it";
  EXPECT_EQ(of(10, 2, 0, 8, {.proposed = 8, .accepted = 6}).reason(), "cost");
  EXPECT_EQ(of(10, 2, 0, 8, {.proposed = 8, .accepted = 1}).reason(), "acceptance");
  EXPECT_EQ(of(10, 0, 0, 0).reason(), "acceptance") << "nobody had a draft";
}

TEST(DraftReport, adds_up_over_the_slots_that_a_request_has_had) {
  DraftReport sum = of(10, 2, 1, 7, {.proposed = 8, .accepted = 6});
  sum.predictions = {.proposed = 3, .accepted = 1};
  sum.greedy_rows = 5;
  sum.coupled_rows = 4;
  sum.add(sum);
  EXPECT_EQ(sum.steps, 20);
  EXPECT_EQ(sum.drafted, 4);
  EXPECT_EQ(sum.unwished, 2);
  EXPECT_EQ(sum.rested, 14);
  EXPECT_EQ(sum.by_drafter[1].proposed, 16);
  EXPECT_EQ(sum.by_drafter[1].accepted, 12);
  EXPECT_EQ(sum.predictions.proposed, 6);
  EXPECT_EQ(sum.predictions.accepted, 2);
  EXPECT_EQ(sum.greedy_rows, 10);
  EXPECT_EQ(sum.coupled_rows, 8);
}

}  // namespace
}  // namespace foretoken
