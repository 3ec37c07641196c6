#pragma once
// What the SUFFIX drafter is asked for. Plain data; what cannot be is refused where flags are read.

#include <cstdint>
#include <limits>

#include "draft/draft_isolation.h"

namespace foretoken {

inline constexpr int kMostSuffixDepth = 255;
inline constexpr std::int64_t kMostSuffixTokens = std::int64_t{1} << 29;

// How many drafts are taken from one place in a text.
struct SuffixShape {
  float factor = 1.0F;             // drafts for each token that agrees, at most
  float least_probability = 0.1F;  // of a draft with those before it, by what followed how often
};

struct SuffixOptions {
  SuffixShape shape;
  int max_depth = 24;                 // tokens of the longest run that is counted
  int max_answers = 10'000;           // finished ones that are remembered; 0: none
  std::int64_t capacity = 2'000'000;  // tokens of all texts, running ones included
  DraftIsolation isolation = DraftIsolation::kKey;
  // Drafts in a step, of all sequences together; rows are planned for so many.
  int most_drafts = std::numeric_limits<int>::max();
  bool only_predictions = false;  // requests without a prediction are not drafted for
};

}  // namespace foretoken
