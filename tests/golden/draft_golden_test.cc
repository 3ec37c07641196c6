// The first two levels of draft trees against an independent computation of every family of heads,
// and more levels where there is a head for each depth, through the same path as serving:
// checkpoints from disk, the prompt in chunks, the drafter.
#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "draft_case.h"
#include "proposing.h"

namespace foretoken {
namespace {

constexpr int kTopk = kGoldenTopk;
// Deeper than any chain of heads, so that all of their KV is looked at.
constexpr TreeShape kDeep{.steps = 5, .topk = 2, .nodes = 16};

double probability(const std::vector<float>& logits, double logit) {
  double sum = 0.0;
  for (const float x : logits) sum += std::exp(double{x});
  return std::exp(logit) / sum;
}

// What the best children of a row score, best first.
std::vector<double> best_scores_of(const std::vector<float>& logits) {
  std::vector<float> sorted = logits;
  std::sort(sorted.rbegin(), sorted.rend());
  std::vector<double> scores;
  for (int i = 0; i < kTopk; ++i)
    scores.push_back(probability(logits, double{sorted[static_cast<std::size_t>(i)]}));
  return scores;
}

class DraftGolden : public testing::TestWithParam<DraftCase> {};

TEST_P(DraftGolden, logits_of_two_levels_agree_in_float32) {
  const DraftCase& draft = GetParam();
  for (const char* device : {"reference", "cpu"}) {
    const Proposal found = Proposing(draft, device, DType::kF32).run(1 << 20);
    ASSERT_EQ(found.logits.size(), 1U + kTopk);
    EXPECT_LT(largest_error(found.logits[0], draft.first[0]), 1e-4) << device;
    for (std::size_t i = 0; i < kTopk; ++i)
      EXPECT_LT(largest_error(found.logits[i + 1], draft.second[i]), 1e-4) << device << i;
  }
}

TEST_P(DraftGolden, the_tree_holds_the_same_children_with_the_same_scores) {
  const DraftCase& draft = GetParam();
  const Proposal found = Proposing(draft, "cpu", DType::kF32).run(1 << 20);
  ASSERT_EQ(found.tokens.size(), 1U + kTopk + kTopk * kTopk);
  EXPECT_EQ(found.tokens[0], draft.root);
  for (std::size_t i = 0; i < kTopk; ++i) {
    EXPECT_EQ(found.tokens[i + 1], draft.level_1[i].token);
    EXPECT_EQ(found.parents[i + 1], 0);
  }
  const std::vector<double> above = best_scores_of(found.logits[0]);
  for (std::size_t i = 0; i < kTopk; ++i) EXPECT_NEAR(above[i], draft.level_1[i].score, 1e-5);
  for (const DraftCase::Child& child : draft.level_2) {
    const auto parent = static_cast<std::size_t>(child.parent);
    // Siblings come best first, three below each node of the level above.
    const std::size_t first = 1 + kTopk + parent * kTopk;
    const auto place = std::find(&found.tokens[first], &found.tokens[first] + kTopk, child.token);
    const auto rank = static_cast<std::size_t>(place - &found.tokens[first]);
    ASSERT_LT(rank, std::size_t{kTopk}) << child.token;
    EXPECT_EQ(found.parents[first + rank], child.parent + 1);
    EXPECT_NEAR(best_scores_of(found.logits[1 + parent])[rank] * above[parent], child.score, 1e-5);
  }
}

TEST_P(DraftGolden, chunks_of_the_prompt_give_the_same_bits) {
  const DraftCase& draft = GetParam();
  const Proposal whole = Proposing(draft, "cpu", DType::kBF16, kDeep).run(1 << 20);
  for (const int chunk : {1, 7, 16}) {
    const Proposal found = Proposing(draft, "cpu", DType::kBF16, kDeep).run(chunk);
    EXPECT_EQ(found.logits, whole.logits) << chunk;
    EXPECT_EQ(found.tokens, whole.tokens) << chunk;
  }
}

TEST_P(DraftGolden, after_a_prefix_hit_the_bits_are_the_same) {
  const DraftCase& draft = GetParam();
  const Proposal whole = Proposing(draft, "cpu", DType::kBF16, kDeep).run(1 << 20);
  for (const int shared : {kPageTokens, 2 * kPageTokens}) {
    Proposing proposing(draft, "cpu", DType::kBF16, kDeep);
    if (proposing.keeps_states() && shared % kStateTokens != 0) continue;
    const Proposal found = proposing.run(kPageTokens, shared);
    EXPECT_EQ(found.logits, whole.logits) << shared;
  }
}

TEST_P(DraftGolden, after_a_rest_the_bits_are_the_same) {
  const DraftCase& draft = GetParam();
  const auto length = static_cast<int>(draft.tokens.size());
  const Proposal whole = Proposing(draft, "cpu", DType::kBF16, kDeep).run(1 << 20);
  for (const int decoded : {2, 9, 20, 32}) {
    if (decoded >= length) continue;
    const Proposal found = Proposing(draft, "cpu", DType::kBF16, kDeep).run(1 << 20, 0, decoded);
    EXPECT_EQ(found.logits, whole.logits) << decoded;
  }
}

class DraftGoldenPath : public testing::TestWithParam<DraftCase> {};

// Each token is the best one behind the token before.
TEST_P(DraftGoldenPath, logits_at_every_depth_agree_in_float32) {
  const DraftCase& draft = GetParam();
  const auto steps = static_cast<int>(draft.path.size());
  for (const char* device : {"reference", "cpu"}) {
    const Proposal found =
        Proposing(draft, device, DType::kF32, {.steps = steps, .topk = 1, .nodes = 1 + steps})
            .run(1 << 20);
    ASSERT_EQ(found.logits.size(), draft.path.size());
    for (std::size_t i = 0; i < draft.path.size(); ++i) {
      EXPECT_LT(largest_error(found.logits[i], draft.way[i]), 1e-4) << device << i;
      EXPECT_EQ(found.tokens[i + 1], draft.path[i]);
    }
  }
}

// Those with a head for each depth.
std::vector<DraftCase> cases_with_paths() {
  std::vector<DraftCase> cases = read_draft_cases();
  std::erase_if(cases, [](const DraftCase& draft) { return draft.path.empty(); });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Chains, DraftGoldenPath, testing::ValuesIn(cases_with_paths()),
                         [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(Heads, DraftGolden, testing::ValuesIn(read_draft_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace foretoken
