#include "draft/with_model/candidate_finder.h"

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "base/index.h"
#include "base/rng.h"

namespace foretoken {
namespace {

// Its logits are a function of the row's one hidden value; its tokens are some of the target's, in
// an order of their own.
class MappedModel final : public DraftModel {
 public:
  MappedModel(Ops& ops, std::vector<Token> ids) : ops_(ops), ids_(std::move(ids)) {}
  void allocate_kv(int) override {}
  KvShape kv_shape() const override { return {}; }
  std::size_t weight_bytes() const override { return 0; }
  std::int64_t vocab() const override { return 100; }
  std::size_t forward_bytes(std::int64_t) const override { return 0; }
  ForwardSize forward_size(std::int64_t) const override { return {}; }
  std::int64_t hidden_width() const override { return 1; }
  std::int64_t logit_width() const override { return static_cast<std::int64_t>(ids_.size()); }
  std::span<const Token> target_tokens() const override { return ids_; }
  DraftRows forward(Batch&, const DraftInput&) override { return {}; }
  Tensor logits(Tensor hidden) override {
    const Tensor out = ops_.temp(DType::kF32, {hidden.dim(0), logit_width()});
    for (std::int64_t row = 0; row < out.dim(0); ++row)
      for (std::size_t i = 0; i < ids_.size(); ++i)
        out.row_f32(row)[i] = logit(hidden.row_f32(row)[0], ids_[i]);
    return out;
  }
  // As the target sees it: tokens that are not drafted cannot be.
  std::vector<float> target_row(float hidden) const {
    std::vector<float> row(100, -std::numeric_limits<float>::infinity());
    for (const Token id : ids_)
      if (id >= 0) row[at(id)] = logit(hidden, id);
    return row;
  }

 private:
  static float logit(float hidden, Token id) {
    return gumbel_noise(static_cast<std::uint64_t>(hidden), 3, id);
  }
  Ops& ops_;
  std::vector<Token> ids_;
};

class CandidateFinderTest : public testing::Test {
 protected:
  CandidateFinderTest()
      : pool_(2, false),
        ops_(make_backend({.device = "reference"}, pool_)),
        model_(*ops_, {90, 3, 17, 4, kNoToken, 55, 8, 99, 21, 30}) {
    params_.seed = 11;
    params_.top_logprobs = -1;
  }

  std::unique_ptr<CandidateFinder> finder(int width, Coupling coupling,
                                          std::size_t slice_bytes = 1 << 20) {
    auto made = std::make_unique<CandidateFinder>(*ops_, model_, width, coupling, slice_bytes);
    made->open(0);
    return made;
  }

  // The facts of a step that brought these tokens to slot 0, whose text has `length` now.
  void observe(CandidateFinder& finder, const std::vector<Token>& emitted, int length) {
    StepPlan plan;
    plan.entries.push_back(
        {.slot = 0, .has_tree = true, .params = &params_, .counts = &counts_, .generated = 4});
    Walk walk;
    walk.seqs.push_back({.slot = 0, .path = {}, .emitted = {}, .foreseen = {}, .scored = {}});
    for (const Token token : emitted) {
      walk.seqs[0].path.push_back(0);
      walk.seqs[0].emitted.emplace_back().token = token;
    }
    SeqTable table(1);
    table.length[0] = length - 1;  // all but the root
    finder.observe({.plan = plan, .table = table, .batch = {}, .walk = walk, .features = {}});
  }

  Tensor hidden(const std::vector<float>& values) {
    const Tensor out = ops_->temp(DType::kF32, {static_cast<std::int64_t>(values.size()), 1});
    std::copy(values.begin(), values.end(), out.f32());
    return out;
  }

  // What the target's sampler draws from this row.
  Token sampled(float hidden, std::int64_t position, const std::vector<Token>& ancestors = {},
                int generated = 0) {
    auto row = model_.target_row(hidden);
    return sample_row(row, {.params = &params_,
                            .counts = &counts_,
                            .ancestors = ancestors,
                            .position = position,
                            .generated = generated})
        .token;
  }

  ThreadPool pool_;
  std::unique_ptr<Ops> ops_;
  MappedModel model_;
  SamplingParams params_;
  TokenCounts counts_;
};

TEST_F(CandidateFinderTest, coupled_candidates_are_the_samplers_draws_of_the_targets_ids) {
  const auto finder = this->finder(2, Coupling::kAlways);
  for (int length = 5; length < 60; ++length) {
    observe(*finder, {7}, length);
    finder->clear();
    finder->add_row(0, {});
    finder->add_row(0, std::vector<Token>{3});
    finder->add_row(0, std::vector<Token>{3, 17});
    finder->find(hidden({1, 2, 3}));
    for (int depth = 0; depth < 3; ++depth)
      EXPECT_EQ(finder->tokens()[at(2 * depth)],
                sampled(static_cast<float>(depth + 1), length + depth));
  }
}

TEST_F(CandidateFinderTest, penalties_and_bars_see_what_was_just_committed_and_the_path) {
  params_.frequency_penalty = 2;
  params_.repetition_penalty = 1.5F;
  params_.stop_tokens = {90, 3, 17};
  params_.min_new_tokens = 7;
  counts_.add_prompt(4);
  counts_.add_output(55);
  const auto finder = this->finder(1, Coupling::kAlways);
  for (int length = 5; length < 60; ++length) {
    observe(*finder, {8, 99}, length);
    finder->clear();
    finder->add_row(0, {});
    finder->add_row(0, std::vector<Token>{21, 8});
    finder->find(hidden({4, 5}));
    EXPECT_EQ(finder->tokens()[0], sampled(4, length, {8, 99}, 6));
    EXPECT_EQ(finder->tokens()[1], sampled(5, length + 2, {8, 99, 21, 8}, 8));
  }
}

TEST_F(CandidateFinderTest, slices_of_rows_give_the_same) {
  std::vector<Token> tokens;
  std::vector<float> chances;
  for (const std::size_t slice : {std::size_t{1}, std::size_t{90}, std::size_t{1} << 20}) {
    const auto finder = this->finder(3, Coupling::kAlways, slice);
    observe(*finder, {7}, 9);
    finder->clear();
    finder->add_row(0, {});
    for (int i = 0; i < 6; ++i) finder->add_row(0, std::vector<Token>(at(i + 1), 3));
    finder->find(hidden({1, 2, 3, 4, 5, 6, 7}));
    if (tokens.empty()) {
      tokens.assign(finder->tokens().begin(), finder->tokens().end());
      chances.assign(finder->chances().begin(), finder->chances().end());
    }
    EXPECT_TRUE(std::ranges::equal(finder->tokens(), tokens));
    EXPECT_TRUE(std::ranges::equal(finder->chances(), chances));
  }
}

TEST_F(CandidateFinderTest, greedy_requests_and_those_without_coupling_get_the_most_probable) {
  const auto row = model_.target_row(6);
  const Token best = static_cast<Token>(std::max_element(row.begin(), row.end()) - row.begin());
  for (const float temperature : {0.0F, 1.0F}) {
    params_.temperature = temperature;
    const auto finder = this->finder(2, temperature > 0 ? Coupling::kNever : Coupling::kAlways);
    for (int length = 5; length < 20; ++length) {
      observe(*finder, {7}, length);
      finder->clear();
      finder->add_row(0, {});
      finder->find(hidden({6}));
      EXPECT_EQ(finder->tokens()[0], best);
      EXPECT_GT(finder->chances()[0], finder->chances()[1]);
    }
  }
}

TEST_F(CandidateFinderTest, what_comes_true_more_often_is_followed) {
  const auto finder = this->finder(1, Coupling::kMeasured);
  const auto row = model_.target_row(6);
  const Token best = static_cast<Token>(std::max_element(row.begin(), row.end()) - row.begin());
  Token next = 7;
  int best_ones = 0, sampled_ones = 0;
  for (int length = 5; length < 805; ++length) {
    observe(*finder, {next}, length);
    finder->clear();
    finder->add_row(0, {});
    finder->find(hidden({6}));
    // At first the target draws what is most probable, then what the sampler would.
    next = length < 405 ? best : sampled(6, length);
    if (length >= 305 && length < 405) best_ones += finder->tokens()[0] == best ? 1 : 0;
    if (length >= 705) sampled_ones += finder->tokens()[0] == next ? 1 : 0;
  }
  EXPECT_GE(best_ones, 90);
  EXPECT_EQ(sampled_ones, 100);
}

TEST_F(CandidateFinderTest, where_the_noise_tells_nothing_all_is_as_without_coupling) {
  const auto measured = finder(3, Coupling::kMeasured), never = finder(3, Coupling::kNever);
  const auto row = model_.target_row(6);
  const Token best = static_cast<Token>(std::max_element(row.begin(), row.end()) - row.begin());
  for (int length = 5; length < 200; ++length) {
    for (CandidateFinder* each : {measured.get(), never.get()}) {
      observe(*each, {best}, length);
      each->clear();
      each->add_row(0, {});
      each->add_row(0, std::vector<Token>{3});
      each->find(hidden({6, 2}));
    }
    if (length < 100) continue;
    EXPECT_TRUE(std::ranges::equal(measured->tokens(), never->tokens()));
    EXPECT_TRUE(std::ranges::equal(measured->chances(), never->chances()));
  }
  EXPECT_GT(measured->row_counts(0).coupled, 0);
  EXPECT_GE(measured->row_counts(0).greedy, 200);
}

TEST_F(CandidateFinderTest, counts_rows_by_how_candidates_were_chosen) {
  for (const Coupling coupling : {Coupling::kNever, Coupling::kAlways}) {
    const auto finder = this->finder(2, coupling);
    observe(*finder, {7}, 9);
    finder->clear();
    finder->add_row(0, {});
    finder->add_row(0, std::vector<Token>{3});
    finder->find(hidden({6, 6}));
    EXPECT_EQ(finder->row_counts(0).coupled, coupling == Coupling::kAlways ? 2 : 0);
    EXPECT_EQ(finder->row_counts(0).greedy, coupling == Coupling::kAlways ? 0 : 2);
    finder->open(0);
    EXPECT_EQ(finder->row_counts(0).greedy + finder->row_counts(0).coupled, 0);
  }
}

}  // namespace
}  // namespace foretoken
