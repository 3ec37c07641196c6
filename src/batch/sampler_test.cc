#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "batch/gumbel.h"
#include "batch/logits.h"
#include "batch/sampling.h"
#include "batch/testing/guarded_row.h"

namespace foretoken::sampler_test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

SampledToken sample(std::vector<float> logits, const SamplingParams& params,
                    std::int64_t position = 0) {
  return sample_row(logits, {.params = &params, .position = position});
}

SamplingParams quiet() {
  SamplingParams params;
  params.top_logprobs = -1;
  return params;
}

SamplingParams greedy() {
  SamplingParams params;
  params.temperature = 0.0F;
  return params;
}

std::vector<float> random_row(std::size_t size, std::uint64_t seed, float scale) {
  std::vector<float> x(size);
  for (std::size_t i = 0; i < size; ++i)
    x[i] = scale * gumbel_noise(seed, 1, static_cast<std::int32_t>(i));
  return x;
}

// Sum over cells of (seen - expected)^2 / expected.
double chi_square(const std::vector<int>& seen, const std::vector<double>& probability) {
  double draws = 0.0, sum = 0.0;
  for (const int n : seen) draws += n;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const double expected = draws * probability[i];
    if (expected > 0.0) sum += (seen[i] - expected) * (seen[i] - expected) / expected;
  }
  return sum;
}

TEST(Sampler, greedy_takes_the_lowest_id_of_a_tie) {
  std::vector<float> x(200, 0.0F);
  x[77] = x[130] = x[199] = 4.0F;
  EXPECT_EQ(sample(x, greedy()).token, 77);
}

TEST(Sampler, the_best_is_found_without_a_look_behind_the_row) {
  for (const std::size_t size : {1U, 63U, 64U, 65U, 1000U, 5003U}) {
    std::vector<float> x(size, 0.0F);
    x.back() = 1.0F;
    GuardedRow guarded(x);
    EXPECT_EQ(find_best(guarded.row(), RowTops::of(guarded.row())), size - 1);
  }
}

TEST(Sampler, skipping_hopeless_tokens_changes_nothing) {
  for (const float scale : {0.0F, 0.3F, 2.0F, 9.0F, 1e5F})
    for (const std::size_t size : {1U, 63U, 64U, 65U, 1000U, 5003U}) {
      const auto x = random_row(size, 5, scale);
      const RowTops tops = RowTops::of(x);
      const Token start = find_best(x, tops);
      for (std::int64_t position = 0; position < 8; ++position) {
        float best = kMinusInfinity;
        Token expected = kNoToken;
        for (std::size_t i = 0; i < size; ++i) {
          const float score = x[i] + gumbel_noise(42, position, static_cast<Token>(i));
          if (score > best) best = score, expected = static_cast<Token>(i);
        }
        EXPECT_EQ(gumbel_argmax(x, tops, {}, start, 42, position), expected)
            << size << " values, scale " << scale;
      }
    }
}

TEST(Sampler, draws_follow_the_softmax) {
  const std::vector<float> x{1.0F, 0.0F, -1.0F, 2.0F, kMinusInfinity, 0.5F};
  SamplingParams params = quiet();
  params.temperature = 0.8F;
  std::vector<double> p;
  double sum = 0.0;
  for (const float v : x) sum += p.emplace_back(std::exp(v / 0.8));
  for (double& v : p) v /= sum;
  std::vector<int> seen(x.size());
  for (int i = 0; i < 100000; ++i) ++seen[static_cast<std::size_t>(sample(x, params, i).token)];
  EXPECT_EQ(seen[4], 0);
  EXPECT_LT(chi_square(seen, p), 25.7);  // p = 1e-4 at four degrees of freedom: 23.5, at five 25.7
}

TEST(Sampler, filters_apply_one_after_the_other) {
  // Probabilities 0.4, 0.3, 0.2, 0.1.
  const std::vector<float> x{std::log(0.2F), std::log(0.4F), std::log(0.1F), std::log(0.3F)};
  const auto drawn = [&](int top_k, float top_p, float min_p) {
    SamplingParams params = quiet();
    params.top_k = top_k;
    params.top_p = top_p;
    params.min_p = min_p;
    std::vector<int> seen(4);
    for (int i = 0; i < 2000; ++i) ++seen[static_cast<std::size_t>(sample(x, params, i).token)];
    std::vector<bool> any;
    for (const int n : seen) any.push_back(n > 0);
    return any;
  };
  EXPECT_EQ(drawn(-1, 1.0F, 0.0F), (std::vector<bool>{true, true, true, true}));
  EXPECT_EQ(drawn(2, 1.0F, 0.0F), (std::vector<bool>{false, true, false, true}));
  EXPECT_EQ(drawn(-1, 0.75F, 0.0F), (std::vector<bool>{true, true, false, true}));
  // After top-2 the best token holds 4/7 of what is left, so it alone reaches 0.5.
  EXPECT_EQ(drawn(2, 0.5F, 0.0F), (std::vector<bool>{false, true, false, false}));
  EXPECT_EQ(drawn(-1, 1.0F, 0.6F), (std::vector<bool>{false, true, false, true}));
}

TEST(Sampler, noise_depends_on_seed_and_position_only) {
  const std::vector<float> x(50, 0.0F);
  SamplingParams params = quiet();
  params.seed = 3;
  const Token first = sample(x, params, 10).token;
  EXPECT_EQ(sample(x, params, 10).token, first);
  int changes = 0;
  for (int i = 0; i < 20; ++i) changes += sample(x, params, i).token != first ? 1 : 0;
  EXPECT_GT(changes, 10);
}

TEST(Sampler, bias_and_bars_apply_before_the_draw) {
  SamplingParams params = greedy();
  params.logit_bias = {{2, 100.0F}, {-5, 1.0F}, {9999, 1.0F}};
  EXPECT_EQ(sample({3.0F, 1.0F, 0.0F}, params).token, 2);
  params.stop_tokens = {2, 0};
  params.min_new_tokens = 4;
  std::vector<float> x{3.0F, 1.0F, 0.0F};
  EXPECT_EQ(sample_row(x, {.params = &params, .generated = 3}).token, 1);
  x = {3.0F, 1.0F, 0.0F};
  EXPECT_EQ(sample_row(x, {.params = &params, .generated = 4}).token, 2);
}

TEST(Sampler, penalties_see_history_and_ancestors) {
  TokenCounts counts;
  counts.add_prompt(0);
  counts.add_output(1);
  counts.add_output(1);
  SamplingParams params = greedy();
  params.repetition_penalty = 2.0F;
  params.frequency_penalty = 0.25F;
  params.presence_penalty = 0.5F;
  std::vector<float> x{4.0F, 4.0F, -4.0F, 4.0F, 4.0F};
  const std::vector<Token> ancestors{2, 1, 2};
  adjust_logits(x, {.params = &params, .counts = &counts, .ancestors = ancestors});
  // Token 1: twice before, once among the ancestors; token 2: negative, twice among the ancestors.
  EXPECT_EQ(x, (std::vector<float>{2.0F, 2.0F - 0.75F - 0.5F, -8.0F - 0.5F - 0.5F, 4.0F, 4.0F}));
}

TEST(Sampler, ancestors_count_like_committed_tokens) {
  SamplingParams params = greedy();
  params.repetition_penalty = 1.3F;
  params.frequency_penalty = 0.1F;
  params.presence_penalty = 0.2F;
  TokenCounts before, after;
  for (TokenCounts* counts : {&before, &after}) counts->add_prompt(5);
  const std::vector<Token> ancestors{5, 7, 7};
  for (const Token token : ancestors) after.add_output(token);
  auto with_tree = random_row(40, 1, 3.0F), plain = with_tree;
  adjust_logits(with_tree, {.params = &params, .counts = &before, .ancestors = ancestors});
  adjust_logits(plain, {.params = &params, .counts = &after});
  EXPECT_EQ(with_tree, plain);
}

TEST(Sampler, the_grammar_mask_bars_tokens) {
  SamplingParams params = greedy();
  params.logprob_tokens = {0};
  const std::vector<std::uint32_t> allowed{0, 0b100};
  std::vector<float> x(70, 0.0F);
  x[3] = 9.0F;
  const auto drawn = sample_row(x, {.params = &params, .allowed = allowed});
  EXPECT_EQ(drawn.token, 34);
  EXPECT_EQ(drawn.logprob, 0.0F);
  EXPECT_EQ(drawn.token_logprobs[0], kNoChance);
}

TEST(Sampler, nan_and_infinite_logits_are_survived) {
  for (const float temperature : {0.0F, 1.0F, 1e-5F}) {
    SamplingParams params;
    params.temperature = temperature;
    params.top_p = 0.9F;
    params.top_logprobs = 2;
    EXPECT_EQ(sample({kNan, -kInf, 1.0F, kNan}, params).token, 2);
    EXPECT_EQ(sample({0.0F, kInf, 1.0F}, params).token, 1);
    const auto none = sample({kNan, -kInf, kNan}, params);
    EXPECT_EQ(none.token, 0);
    EXPECT_EQ(none.logprob, kNoChance);
    EXPECT_TRUE(none.is_void);
    EXPECT_FALSE(sample({kNan, -kInf, 1.0F, kNan}, params).is_void);
  }
  SamplingParams params = greedy();
  std::vector<float> x(64, kNan);
  const std::vector<std::uint32_t> allowed{0, 0b1000};
  const SampledToken drawn = sample_row(x, {.params = &params, .allowed = allowed});
  EXPECT_EQ(drawn.token, 35);
  EXPECT_TRUE(drawn.is_void);
  // Bars may leave nothing of what a mask allows, whatever the model says.
  params.min_new_tokens = 1;
  params.stop_tokens = {35};
  x.assign(64, 0.0F);
  EXPECT_FALSE(sample_row(x, {.params = &params, .allowed = allowed}).is_void);
}

TEST(Sampler, logprobs_are_those_of_the_scaled_logits_before_filters) {
  SamplingParams params;
  params.temperature = 0.5F;
  params.top_k = 1;
  params.top_logprobs = 3;
  params.logprob_tokens = {4, 1};
  const std::vector<float> x{1.0F, 3.0F, 2.0F, 3.0F, 0.0F};
  double sum = 0.0;
  for (const float v : x) sum += std::exp(2.0 * v);
  const auto logprob = [&](int i) { return 2.0 * x[static_cast<std::size_t>(i)] - std::log(sum); };
  const auto drawn = sample(x, params);
  EXPECT_EQ(drawn.token, 1);
  EXPECT_NEAR(drawn.logprob, logprob(1), 1e-5);
  ASSERT_EQ(drawn.top.size(), 3U);
  EXPECT_EQ(drawn.top[0].token, 1);
  EXPECT_EQ(drawn.top[1].token, 3);
  EXPECT_EQ(drawn.top[2].token, 2);
  EXPECT_NEAR(drawn.top[2].logprob, logprob(2), 1e-5);
  ASSERT_EQ(drawn.token_logprobs.size(), 2U);
  EXPECT_NEAR(drawn.token_logprobs[0], logprob(4), 1e-5);
}

TEST(Sampler, no_logprobs_unless_wanted) {
  const auto drawn = sample({1.0F, 2.0F}, quiet());
  EXPECT_TRUE(std::isnan(drawn.logprob));
  EXPECT_TRUE(drawn.top.empty());
}

TEST(Sampler, scoring_ignores_temperature_and_keeps_the_logits) {
  SamplingParams params;
  params.temperature = 9.0F;
  params.top_logprobs = 1;
  const std::vector<float> x{0.0F, 1.0F, kNan};
  const auto scored = score_token(x, 0, params);
  EXPECT_EQ(scored.token, 0);
  EXPECT_NEAR(scored.logprob, -std::log(1.0 + std::exp(1.0)), 1e-6);
  EXPECT_EQ(scored.top[0].token, 1);
  EXPECT_EQ(score_token(x, 2, params).logprob, kNoChance);
  EXPECT_EQ(score_token(x, 7, params).logprob, kNoChance);
}

TEST(Sampler, long_sums_stay_accurate) {
  const auto x = random_row(131072, 9, 2.0F);
  const float max = RowTops::of(x).max;
  double sum = 0.0;
  for (const float v : x) sum += std::exp(static_cast<double>(v) - max);
  EXPECT_NEAR(log_sum_exp(x, max), std::log(sum), 1e-6);
}

}  // namespace
}  // namespace foretoken::sampler_test
