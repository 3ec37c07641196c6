#pragma once
// Which tokens the sampler may draw from a row, and how far each is from being drawn, if the row's
// logits were the target's: candidates of a draft that wants to be the target's own sample. The
// noise is the target's, so where both models agree, draft and sample are the same token. Not the
// sampler: it decides nothing, and its probabilities are for drafts only. Pure functions.

#include <span>

#include "batch/sampling.h"

namespace foretoken {

// The sampler draws the greatest sum of both.
struct Drawable {
  Token token = kNoToken;
  float log_prob = 0.0F;  // among what the filters leave
  float noise = 0.0F;
};

// Candidates so far below the first are none.
inline constexpr float kDrawReach = 12.0F;

// Fills `found` with the greatest log_prob + noise_share * noise, best first, and `judged`, if
// there is room, one half with the greatest log_prob and one with the greatest sum; kNoToken where
// there are no more. logits [vocab] of the target's token ids are modified in place as the sampler
// does: bias, bars, penalties, temperature, filters. noise_share: 0 to 1.
void draw_candidates(std::span<float> logits, const RowContext& row, float noise_share,
                     std::span<Drawable> found, std::span<Drawable> judged = {});

}  // namespace foretoken
