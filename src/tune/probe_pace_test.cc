#include "tune/probe_pace.h"

#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace foretoken {
namespace {

// A machine whose times are known: a step takes 10 ms and 1 ms per row of a tree, 0.5 ms per row of
// a prompt; reading 0.2 ms a row, roots 1 ms, a level 2 ms and 0.1 ms a row, the rest 0.3 ms.
class ProbePaceTest : public testing::Test {
 protected:
  static constexpr int kSteps = 6;

  void step(int sequences, int tree_rows, int chain_rows) {
    now_ += pace_.sleeps(kNoSlot) ? 0.008 : 0.010 + 0.001 * tree_rows;
    now_ += 0.0005 * chain_rows;
    Batch batch;
    batch.rows = tree_rows + chain_rows;
    Walk walk;
    for (int i = 0; i < sequences; ++i) {
      const int chain = i == 0 ? chain_rows : 0;
      const int rows = chain + tree_rows / sequences;
      batch.seqs.push_back({i, 0, rows, 0, chain, 0, 0, false});
      walk.seqs.emplace_back().slot = i;
    }
    const StepPlan plan;
    const SeqTable table(sequences);
    const Features features;
    pace_.observe({plan, table, batch, walk, features});
    if (!pace_.sleeps(kNoSlot)) {
      forward(DraftWork::kReading, tree_rows + chain_rows, 0.0002 * (tree_rows + chain_rows));
      forward(DraftWork::kRoots, sequences, 0.001);
      int levels = 1;
      for (; pace_.is_level_worth(sequences, 1) && levels < kSteps; ++levels)
        forward(DraftWork::kLevel, sequences, 0.002 + 0.0001 * sequences);
      levels_.insert(levels);
      least_.insert(pace_.least_score());
      cuts_.push_back({levels, pace_.least_score()});
      now_ += 0.0003;
    }
    pace_.end_growth();
  }
  void forward(DraftWork work, int rows, double seconds) {
    pace_.begin_forward(work);
    now_ += seconds;
    pace_.end_forward(rows);
  }

  double now_ = 100;
  ProbePace pace_{kSteps, 1, [this] { return now_; }};
  std::set<int> levels_;
  std::set<float> least_;
  std::vector<std::pair<int, float>> cuts_;
};

TEST_F(ProbePaceTest, what_work_takes_is_found_out) {
  pace_.set_plain(true);
  EXPECT_TRUE(pace_.rests(0));
  for (int i = 0; i < 20; ++i) step(2, 2, i % 4 == 0 ? 16 : 0);
  pace_.set_plain(false);
  EXPECT_FALSE(pace_.rests(0));
  for (int i = 0; i < 400; ++i) step(2, 2 + 2 * (i % 10), i % 8 == 0 ? 32 : 0);
  EXPECT_GT(pace_.samples(), 300);
  const StepCosts costs = pace_.take_costs();
  EXPECT_NEAR(costs.plain.of(2), 0.008, 1e-6);
  for (const int rows : {2, 8, 20, 40})
    EXPECT_NEAR(costs.target.of(rows), 0.010 + 0.001 * rows, 1e-5) << rows;
  EXPECT_NEAR(costs.prompt.of(16), 0.008, 1e-4);
  EXPECT_NEAR(costs.prompt.of(32), 0.016, 1e-4);
  EXPECT_NEAR(costs.reading.of(10), 0.002, 1e-5);
  EXPECT_NEAR(costs.roots.of(2), 0.001, 1e-6);
  EXPECT_NEAR(costs.level.of(2), 0.0022, 1e-6);
  EXPECT_NEAR(costs.rest.of(2), 0.0003, 1e-6);
  EXPECT_EQ(pace_.samples(), 0);
  EXPECT_TRUE(pace_.take_costs().target.empty());
}

TEST_F(ProbePaceTest, trees_of_all_depths_and_sizes_come_by) {
  for (int i = 0; i < 300; ++i) step(1, 1, 0);
  EXPECT_EQ(levels_.size(), static_cast<std::size_t>(kSteps));
  EXPECT_GE(least_.size(), 6U);
  EXPECT_TRUE(least_.contains(0));
}

// A step among others of its size is what a setting will see.
TEST_F(ProbePaceTest, a_cut_stays_for_some_steps) {
  for (int i = 0; i < 300; ++i) step(1, 1, 0);
  int same = 0;
  for (std::size_t i = 1; i < cuts_.size(); ++i) same += cuts_[i] == cuts_[i - 1] ? 1 : 0;
  EXPECT_GT(same, 120);  // of 299; by chance one in thirty
}

}  // namespace
}  // namespace foretoken
