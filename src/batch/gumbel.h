#pragma once
// Gumbel-max: the argmax of value + noise is a sample of softmax(value). The noise of a token is a
// pure function of (seed, position, token) and bounded, so tokens that cannot win are skipped
// without changing the result. Pure functions.

#include <cstdint>
#include <span>

#include "base/types.h"
#include "batch/filters.h"

namespace foretoken {

// Lowest id of the greatest value; `max` is that value (see row_max).
Token find_first(std::span<const float> logits, float max);

// argmax over kept tokens of logits[i] + gumbel_noise(seed, position, i), ties to the lowest id.
// `best_token` is the argmax of logits, finite and kept. No NaN in logits.
Token gumbel_argmax(std::span<const float> logits, const Cut& cut, Token best_token,
                    std::uint64_t seed, std::int64_t position);

}  // namespace foretoken
