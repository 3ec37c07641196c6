#pragma once
// Tokens that a backend finds in rows of logits for the host to read: the most probable ones, and
// those that the sampler would draw. For drafts, not for sampling. Plain data.

#include <cstdint>
#include <vector>

#include "batch/draws.h"
#include "batch/sampling.h"

namespace foretoken {

// The most probable entries of rows of logits, k per row, most probable first.
struct TopTokens {
  std::vector<Token> token;        // kNoToken where a row has fewer numbers
  std::vector<float> probability;  // softmax over the whole row; 1 when k is 1
};

// A row of logits below which drafts are drawn as the sampler would draw.
struct DrawRow {
  std::int32_t row = 0;
  float noise_share = 1;   // see draw_candidates
  bool is_judged = false;  // wants what there is to judge, too
  RowContext context;      // of the row, if the logits were the target's
};

// What was found: k, and kJudged, for each row drawn; see draw_candidates.
struct DrawnTokens {
  static constexpr int kJudged = 8;
  std::vector<Drawable> found, judged;
};

}  // namespace foretoken
