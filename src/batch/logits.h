#pragma once
// What happens to a row of logits before tokens are filtered: bias, bars, penalties, grammar,
// temperature; and its log-softmax. Pure functions over one row, modified in place.

#include <span>

#include "batch/filters.h"
#include "batch/row_tops.h"
#include "batch/sampling.h"

namespace foretoken {

// Temperatures below this mean argmax: nothing but the best token would survive them.
inline constexpr float kLowestTemperature = 1e-6F;

// Whether the next token is the best one, and no noise decides.
inline bool is_greedy(const SamplingParams& params) {
  return params.temperature < kLowestTemperature || params.top_k == 1;
}

// Reported for tokens that cannot be drawn (barred, masked): a finite number, because JSON has no
// infinity.
inline constexpr float kNoChance = -9999.0F;

// Bars the tokens that have no bit.
void apply_mask(std::span<float> logits, std::span<const std::uint32_t> allowed);

// Applies, in this order: logit bias, min_new_tokens, penalties, grammar mask, temperature. NaN
// becomes minus infinity and infinity a large number, so that what follows needs no care. Token ids
// outside the row are ignored.
// Penalties: repetition first (x > 0 ? x / r : x * r, prompt and output), then
// x - frequency * count - presence (output only).
RowTops adjust_logits(std::span<float> logits, const RowContext& row);

// What top-k, top-p and min-p leave of adjusted logits, whose greatest value is finite.
Cut sampling_cut(std::span<const float> logits, const RowTops& tops, const SamplingParams& params);

// log of the sum of e^(x - max), in a fixed order of addition; max finite.
float log_sum_exp(std::span<const float> logits, float max);

}  // namespace foretoken
