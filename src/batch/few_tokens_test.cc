// A row of which only some tokens are known is sampled as the whole row is.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "base/index.h"
#include "base/rng.h"
#include "batch/few_tokens.h"
#include "batch/logits.h"

namespace foretoken {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// Values of which `steps` differ, so that many are equal.
std::vector<float> row_of(std::uint64_t seed, std::size_t vocab, int steps) {
  std::vector<float> row;
  for (std::size_t i = 0; i < vocab; ++i)
    row.push_back(static_cast<float>(mix_seed(seed, i) % static_cast<std::uint64_t>(steps)) /
                  static_cast<float>(steps) * 9.0F);
  return row;
}

// The `count` greatest of the row and what is equal to the last of them, by id.
std::vector<Token> best_tokens(const std::vector<float>& row, std::size_t count) {
  std::vector<float> sorted = row;
  std::ranges::sort(sorted, std::greater<>());
  std::vector<Token> best;
  for (std::size_t i = 0; i < row.size(); ++i)
    if (row[i] >= sorted[count - 1] * (1 - 0x1p-20F)) best.push_back(static_cast<Token>(i));
  return best;
}

std::optional<Token> drawn_of(const std::vector<float>& row, const std::vector<Token>& tokens,
                              const SamplingParams& params, std::int64_t position) {
  std::vector<float> logits;
  for (const Token token : tokens) logits.push_back(row[at(token)]);
  return sample_few({.tokens = tokens, .logits = logits}, params, position);
}

Token whole_row(std::vector<float> row, const SamplingParams& params, std::int64_t position) {
  return sample_row(row, {.params = &params, .position = position}).token;
}

TEST(FewTokens, are_sampled_as_the_whole_row) {
  SamplingParams params;
  params.top_logprobs = -1;
  int different = 0;
  for (const int steps : {3, 50, 1 << 20})
    for (const float temperature : {0.0F, 0.3F, 1.0F, 1.7F})
      for (const int top_k : {1, 2, 20})
        for (const float top_p : {0.4F, 0.95F, 1.0F})
          for (const float min_p : {0.0F, 0.2F})
            for (std::int64_t position = 0; position < 6; ++position) {
              params.seed = static_cast<std::uint64_t>(steps);
              params.temperature = temperature;
              params.top_k = top_k;
              params.top_p = top_p;
              params.min_p = min_p;
              const auto row = row_of(params.seed + 7, 700, steps);
              const Token expected = whole_row(row, params, position);
              const auto found = drawn_of(row, best_tokens(row, at(top_k)), params, position);
              ASSERT_EQ(found, expected)
                  << steps << " " << temperature << " " << top_k << " " << top_p << " " << min_p;
              if (expected != std::ranges::max_element(row) - row.begin()) ++different;
            }
  EXPECT_GT(different, 100) << "noise decides";
}

TEST(FewTokens, all_tokens_are_enough_without_filters) {
  SamplingParams params;
  params.top_logprobs = -1;
  params.temperature = 0.8F;
  const auto row = row_of(4, 300, 1 << 20);
  std::vector<Token> all(row.size());
  std::iota(all.begin(), all.end(), 0);
  for (params.seed = 0; params.seed < 20; ++params.seed)
    EXPECT_EQ(drawn_of(row, all, params, 11), whole_row(row, params, 11));
}

TEST(FewTokens, a_row_without_numbers_is_left_to_who_knows_all_of_it) {
  for (const float temperature : {0.0F, 1.0F}) {
    SamplingParams params;
    params.top_logprobs = -1;
    params.temperature = temperature;
    EXPECT_EQ(sample_few({}, params, 3), std::nullopt);
  }
}

TEST(FewTokens, where_fewer_than_k_have_a_chance_the_whole_row_is_needed) {
  const std::vector<float> row{3, -kInf, 2, 1};
  SamplingParams params;
  params.top_logprobs = -1;
  params.top_k = 3;
  params.top_p = 0.5F;
  EXPECT_TRUE(drawn_of(row, {0, 2, 3}, params, 1).has_value());
  EXPECT_FALSE(drawn_of(row, {0, 2}, params, 1).has_value());
  EXPECT_FALSE(drawn_of(row, {0, 1, 2}, params, 1).has_value());
}

}  // namespace
}  // namespace foretoken
