#include "batch/logits.h"

#include <vector>

#include <gtest/gtest.h>

namespace foretoken {
namespace {

std::vector<float> adjusted(std::vector<float> logits, const RowContext& row) {
  adjust_logits(logits, row);
  return logits;
}

TEST(Logits, a_bias_reaches_every_token_and_nothing_beside_them) {
  SamplingParams params;
  params.logit_bias = {{0, 1.0F}, {2, 2.0F}, {3, 4.0F}, {-1, 8.0F}};
  EXPECT_EQ(adjusted({0.5F, 0.5F, 0.5F}, {.params = &params}),
            (std::vector<float>{1.5F, 0.5F, 2.5F}));
}

TEST(Logits, stop_tokens_are_barred_until_there_are_enough) {
  SamplingParams params;
  params.stop_tokens = {0, 2};
  params.min_new_tokens = 2;
  for (const int generated : {0, 1, 2, 3})
    EXPECT_EQ(adjusted({1.0F, 1.0F, 1.0F}, {.params = &params, .generated = generated}),
              generated < 2 ? (std::vector<float>{kMinusInfinity, 1.0F, kMinusInfinity})
                            : (std::vector<float>{1.0F, 1.0F, 1.0F}))
        << generated;
}

TEST(Logits, the_text_is_penalized_once_and_the_output_for_each_time) {
  SamplingParams params;
  params.repetition_penalty = 2.0F;
  params.frequency_penalty = 0.25F;
  params.presence_penalty = 8.0F;
  TokenCounts counts;
  counts.add_prompt(0);
  counts.add_prompt(1);
  for (const Token token : {1, 2, 2, 9}) counts.add_output(token);  // 9: of a larger vocabulary
  // Of the prompt; of both; twice of the output; nowhere.
  EXPECT_EQ(adjusted({4.0F, -4.0F, 4.0F, 4.0F}, {.params = &params, .counts = &counts}),
            (std::vector<float>{2.0F, -16.25F, -6.5F, 4.0F}));
}

TEST(Logits, ancestors_in_the_tree_are_output) {
  SamplingParams params;
  params.repetition_penalty = 2.0F;
  params.frequency_penalty = 0.25F;
  params.presence_penalty = 8.0F;
  TokenCounts counts;
  counts.add_prompt(0);
  counts.add_output(1);
  const std::vector<Token> ancestors{0, 1, 2, 2};
  EXPECT_EQ(adjusted({4.0F, 4.0F, 4.0F, 4.0F},
                     {.params = &params, .counts = &counts, .ancestors = ancestors}),
            (std::vector<float>{-6.25F, -6.5F, -6.5F, 4.0F}));
  EXPECT_EQ(adjusted({4.0F, 4.0F, 4.0F, 4.0F}, {.params = &params, .ancestors = ancestors}),
            (std::vector<float>{-6.25F, -6.25F, -6.5F, 4.0F}));
}

TEST(Logits, a_mask_bars_what_it_does_not_name_and_what_it_does_not_reach) {
  std::vector<float> logits(70, 1.0F);
  apply_mask(logits, std::vector<std::uint32_t>{1U << 31, 1U});
  for (std::size_t i = 0; i < logits.size(); ++i)
    EXPECT_EQ(logits[i], i == 31 || i == 32 ? 1.0F : kMinusInfinity) << i;
}

}  // namespace
}  // namespace foretoken
