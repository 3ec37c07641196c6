#pragma once
// What a tree would have accepted above temperature 0, in expectation, below a place of a text that
// was recorded at 0. Where the text goes on, the target's logprobs are known; off the text the
// draft model's chances stand in. Not what a run does: that goes on with other texts. Pure
// function.

#include <cstdint>
#include <span>

#include "tune/record.h"

namespace foretoken {

// The tree's root is the token before output[next]. scores: products of chances along the path.
// temperature: above 0.
double expected_acceptance(const RecordedText& text, int next, std::span<const Token> tokens,
                           std::span<const std::int32_t> parents, std::span<const float> scores,
                           double temperature);

// The chance that the target draws a token at a temperature, by the logprobs of its best ones at 1.
// What the others have together is taken for many of the last one's chance. A token that is not
// among the best has none.
double chance_at(std::span<const TopLogprob> top, Token token, double temperature);

}  // namespace foretoken
