#pragma once
// Gumbel-max: the argmax of value + noise is a sample of softmax(value). The noise of a token is a
// pure function of (seed, position, token) and bounded, so tokens that cannot win are skipped
// without changing the result. Pure functions.

#include <cstdint>
#include <span>

#include "base/types.h"
#include "batch/filters.h"
#include "batch/noisy_token.h"
#include "batch/row_tops.h"

namespace foretoken {

// Lowest id of the greatest value.
Token find_best(std::span<const float> logits, const RowTops& tops);

// The kept tokens of the greatest logits[i] + gumbel_noise(seed, position, i), greatest first, ties
// to the lower id: as many as `out` holds and are at most `reach` below the greatest. Returns how
// many. `best_token` is the argmax of logits, finite and kept. No NaN in logits.
std::size_t gumbel_top(std::span<const float> logits, const RowTops& tops, const Cut& cut,
                       Token best_token, std::uint64_t seed, std::int64_t position, float reach,
                       std::span<NoisyToken> out);

// argmax over kept tokens of logits[i] + gumbel_noise(seed, position, i), ties to the lowest id.
// Otherwise as above.
Token gumbel_argmax(std::span<const float> logits, const RowTops& tops, const Cut& cut,
                    Token best_token, std::uint64_t seed, std::int64_t position);

}  // namespace foretoken
