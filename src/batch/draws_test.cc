#include "batch/draws.h"

#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "batch/logits.h"

namespace foretoken {
namespace {

std::vector<float> random_row(std::size_t size, std::uint64_t seed, float scale) {
  std::vector<float> x(size);
  for (std::size_t i = 0; i < size; ++i)
    x[i] = scale * gumbel_noise(seed, 1, static_cast<std::int32_t>(i));
  return x;
}

// Every filter, bias, bar and penalty, alone and together.
std::vector<SamplingParams> many_params() {
  std::vector<SamplingParams> all(7);
  for (auto& params : all) params.top_logprobs = -1;
  all[1].temperature = 0.7F;
  all[2].top_k = 5;
  all[3].top_p = 0.6F;
  all[4].min_p = 0.1F;
  all[5].logit_bias = {{3, 4.0F}, {9, -100.0F}};
  all[5].stop_tokens = {3};
  all[5].min_new_tokens = 4;
  all[6].repetition_penalty = 1.5F;
  all[6].frequency_penalty = 0.5F;
  all[6].temperature = 1.3F;
  all[6].top_k = 40;
  return all;
}

TEST(Draws, the_first_is_what_the_sampler_draws) {
  TokenCounts counts;
  for (const Token token : {3, 8, 8, 20}) counts.add_output(token);
  const std::vector<Token> ancestors{5, 8};
  for (SamplingParams& params : many_params())
    for (std::int64_t position = 0; position < 200; ++position) {
      params.seed = 7;
      const RowContext row{.params = &params,
                           .counts = &counts,
                           .ancestors = ancestors,
                           .position = position,
                           .generated = 2};
      const auto logits = random_row(500, 40, 2.0F);
      auto first = logits, second = logits, third = logits;
      const Token sampled = sample_row(first, row).token;
      std::array<Drawable, 4> found, judged;
      draw_candidates(second, row, 1.0F, found);
      EXPECT_EQ(found[0].token, sampled);
      EXPECT_EQ(found[0].noise, gumbel_noise(7, position, sampled));
      draw_candidates(third, row, 0.4F, found, judged);
      EXPECT_EQ(judged[2].token, sampled);
      EXPECT_GE(judged[0].log_prob, judged[2].log_prob);
    }
}

TEST(Draws, what_comes_next_is_what_would_be_drawn_without_the_first) {
  SamplingParams params;
  params.top_k = 30;
  for (std::int64_t position = 0; position < 100; ++position) {
    std::vector<float> logits = random_row(300, 41, 1.5F);
    const auto original = logits;
    const float share = position % 2 == 0 ? 1.0F : 0.3F;
    std::array<Drawable, 5> found;
    draw_candidates(logits, {.params = &params, .position = position}, share, found);
    const Cut cut = cut_top_k(original, RowTops::of(original), 30);
    auto left = original;
    for (std::size_t i = 0; i < found.size(); ++i) {
      Token best = kNoToken;
      float value = 0;
      for (std::size_t t = 0; t < left.size(); ++t) {
        const auto id = static_cast<Token>(t);
        const float noisy = left[t] + share * gumbel_noise(0, position, id);
        if (!cut.keeps(left[t], id) || (best >= 0 && noisy <= value)) continue;
        best = id;
        value = noisy;
      }
      EXPECT_EQ(found[i].token, best);
      left[static_cast<std::size_t>(best)] = -std::numeric_limits<float>::infinity();
    }
  }
}

TEST(Draws, without_noise_values_are_log_probabilities_among_what_is_left) {
  std::vector<float> logits{0.0F, 2.0F, 1.0F, -3.0F, 2.0F};
  SamplingParams params;
  params.top_k = 3;
  std::array<Drawable, 4> found;
  draw_candidates(logits, {.params = &params}, 0.0F, found);
  EXPECT_EQ(found[0].token, 1);
  EXPECT_EQ(found[1].token, 4);
  EXPECT_EQ(found[2].token, 2);
  EXPECT_EQ(found[3].token, kNoToken);
  double sum = 0;
  for (const Drawable& candidate : std::span(found).first(3))
    sum += std::exp(static_cast<double>(candidate.log_prob));
  EXPECT_NEAR(sum, 1.0, 1e-5);
  EXPECT_NEAR(found[0].log_prob - found[2].log_prob, 1.0, 1e-5);
}

// Noise decides which tokens come, and not how likely they are said to be.
TEST(Draws, log_probabilities_are_those_of_what_is_left_for_any_share_of_noise) {
  const std::vector<float> original{0.0F, 2.0F, 1.0F, -3.0F, 2.5F};
  for (const int top_k : {-1, 3}) {
    SamplingParams params;
    params.top_k = top_k;
    std::vector<Token> left{1, 2, 4};
    if (top_k < 0) left = {0, 1, 2, 3, 4};
    double weight = 0;
    for (const Token token : left) weight += std::exp(original[static_cast<std::size_t>(token)]);
    for (const float share : {0.0F, 0.3F, 0.5F, 1.0F}) {
      auto logits = original;
      std::array<Drawable, 5> found;
      draw_candidates(logits, {.params = &params}, share, found);
      std::size_t count = 0;
      for (; count < found.size() && found[count].token != kNoToken; ++count)
        EXPECT_NEAR(found[count].log_prob,
                    original[static_cast<std::size_t>(found[count].token)] - std::log(weight), 1e-5)
            << "share " << share << ", token " << found[count].token;
      EXPECT_EQ(count, left.size());
    }
  }
}

TEST(Draws, what_stood_in_the_room_for_candidates_is_gone) {
  std::array<Drawable, 4> found, judged;
  found.fill({.token = 2, .log_prob = -1.0F, .noise = 1.0F});
  judged = found;
  SamplingParams params;
  params.top_k = 2;
  std::vector<float> logits{0.0F, 2.0F, 1.0F};
  draw_candidates(logits, {.params = &params}, 0.0F, found);
  EXPECT_EQ(found[1].token, 2);
  EXPECT_EQ(found[2].token, kNoToken);
  EXPECT_EQ(found[3].token, kNoToken);
  std::vector<float> barred(3, -std::numeric_limits<float>::infinity());
  draw_candidates(barred, {.params = &params}, 1.0F, found, judged);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].token, kNoToken);
    EXPECT_EQ(judged[i].token, kNoToken);
  }
}

TEST(Draws, what_cannot_be_drawn_or_is_out_of_reach_is_no_candidate) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  SamplingParams params;
  std::array<Drawable, 4> found, judged;
  std::vector<float> barred(10, kNone);
  draw_candidates(barred, {.params = &params}, 1.0F, found, judged);
  EXPECT_EQ(found[0].token, kNoToken);
  EXPECT_EQ(judged[0].token, kNoToken);
  for (const float share : {1.0F, 0.5F, 0.0F}) {
    std::vector<float> logits(10, kNone);
    logits[4] = 0.0F;
    logits[7] = std::numeric_limits<float>::quiet_NaN();
    draw_candidates(logits, {.params = &params}, share, found);
    EXPECT_EQ(found[0].token, 4);
    EXPECT_EQ(found[1].token, kNoToken);
  }
  std::vector<float> sure(10, 0.0F);
  sure[2] = 60.0F;
  draw_candidates(sure, {.params = &params}, 1.0F, found);
  EXPECT_EQ(found[0].token, 2);
  EXPECT_EQ(found[1].token, kNoToken);
}

TEST(Draws, greedy_requests_draw_the_best) {
  SamplingParams params;
  params.temperature = 0;
  std::vector<float> logits{0.0F, 2.0F, 1.0F};
  std::array<Drawable, 2> found;
  draw_candidates(logits, {.params = &params}, 1.0F, found);
  EXPECT_EQ(found[0].token, 1);
  EXPECT_EQ(found[0].noise, 0.0F);
  EXPECT_EQ(found[1].token, 2);
}

}  // namespace
}  // namespace foretoken
