#include "engine/simulated_acceptance.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "batch/testing/sequence_rows.h"

namespace foretoken {
namespace {

using Method = AcceptanceSimulation::Method;

double mean_tokens(const AcceptanceSimulation& simulation) {
  constexpr int kDraws = 20000;
  double sum = 0;
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) sum += simulation.tokens(draw);
  return sum / kDraws;
}

TEST(AcceptanceSimulation, has_the_mean_that_is_asked_for) {
  EXPECT_NEAR(mean_tokens({.length = 3.25}), 3.25, 0.02);
  EXPECT_DOUBLE_EQ(mean_tokens({.length = 4}), 4.0);
  EXPECT_NEAR(mean_tokens({.length = 5, .method = Method::kMultinomial}), 5.0, 0.03);
}

TEST(AcceptanceSimulation, says_how_probable_its_draws_are) {
  for (const auto method : {Method::kMatchExpected, Method::kMultinomial})
    for (const double length : {0.3, 1.0, 2.0, 3.25, 4.9}) {
      const AcceptanceSimulation simulation{.length = length, .method = method};
      constexpr int kDraws = 20000, kMost = 10;
      std::vector<int> reached(kMost, 0);
      for (std::uint64_t draw = 0; draw < kDraws; ++draw)
        for (int drafts = 0; drafts < std::min(kMost, simulation.tokens(draw)); ++drafts)
          ++reached[static_cast<std::size_t>(drafts)];
      for (int drafts = 0; drafts < kMost; ++drafts)
        EXPECT_NEAR(simulation.chance(drafts),
                    reached[static_cast<std::size_t>(drafts)] / double{kDraws}, 0.015)
            << length << ", " << drafts << " drafts";
    }
}

TEST(AcceptanceSimulation, yields_at_least_one_token) {
  EXPECT_EQ((AcceptanceSimulation{.length = 0.5}.tokens(1)), 1);
  for (std::uint64_t draw = 0; draw < 1000; ++draw)
    EXPECT_GE((AcceptanceSimulation{.length = 1, .method = Method::kMultinomial}.tokens(draw)), 1);
}

// Gives the same logits for every row: token 0 wins.
class FlatTarget final : public TargetModel {
 public:
  explicit FlatTarget(int rows) : values_(static_cast<std::size_t>(rows) * kVocab, 0.0F) {
    for (int row = 0; row < rows; ++row) values_[static_cast<std::size_t>(row) * kVocab] = 1.0F;
  }
  Features forward(const Batch&, const FeatureTaps&) override { return {}; }
  Tensor logits(const Features&, const Batch&) override {
    return {values_.data(),
            DType::kF32,
            {static_cast<std::int64_t>(values_.size()) / kVocab, std::int64_t{kVocab}}};
  }
  std::span<const KvLayer> kv_layers() const override { return {}; }
  std::int64_t vocab() const override { return kVocab; }

  static constexpr int kVocab = 8;

 private:
  std::vector<float> values_;
};

// A scored chain row, then the tree  0 -> {1: token 1, 2: token 2},  1 -> 3: token 3,  3 -> 4:
// token 0.
Batch batch_of_a_tree() {
  Batch batch;
  batch.rows = 6;
  batch.seqs.push_back(sequence_rows(6, 1));
  batch.token = {7, 7, 1, 2, 3, 0};
  batch.mask = {0, 0b1, 0b11, 0b101, 0b1011, 0b11011};
  batch.logit_rows = {0, 1, 2, 3, 4, 5};
  return batch;
}

// What greedy sampling draws from each row.
std::vector<int> winners(double length) {
  ThreadPool pool(1, false);
  const auto ops = make_backend({.device = "reference"}, pool);
  FlatTarget target(6);
  SimulatedAcceptance simulated(*ops, target, {.length = length});
  const Tensor logits = simulated.logits({}, batch_of_a_tree());
  std::vector<int> best;
  for (int row = 0; row < 6; ++row) {
    const float* values = logits.row_f32(row);
    best.push_back(
        static_cast<int>(std::max_element(values, values + FlatTarget::kVocab) - values));
  }
  return best;
}

TEST(SimulatedAcceptance, accepts_the_path_of_the_wanted_length_and_no_more) {
  EXPECT_EQ(winners(1), (std::vector<int>{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(winners(2), (std::vector<int>{0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(winners(3), (std::vector<int>{0, 1, 3, 0, 1, 0}))
      << "the draft of token 0 under node 3 would have been right";
  EXPECT_EQ(winners(4), (std::vector<int>{0, 1, 3, 0, 0, 0}));
  EXPECT_EQ(winners(9), winners(4)) << "a tree that is too shallow is accepted whole";
}

TEST(SimulatedAcceptance, leaves_trees_without_drafts_alone) {
  Batch batch;
  batch.rows = 1;
  batch.seqs.push_back(sequence_rows(1, 0, true));
  batch.token = {7};
  batch.mask = {1};
  batch.logit_rows = {0};
  ThreadPool pool(1, false);
  const auto ops = make_backend({.device = "reference"}, pool);
  FlatTarget target(1);
  SimulatedAcceptance simulated(*ops, target, {.length = 4});
  const Tensor logits = simulated.logits({}, batch);
  EXPECT_EQ(logits.row_f32(0)[0], 1.0F);
  EXPECT_EQ(logits.row_f32(0)[7], 0.0F);
}

}  // namespace
}  // namespace foretoken
