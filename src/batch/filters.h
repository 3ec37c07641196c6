#pragma once
// Top-k, top-p and min-p as cuts. Tokens are ordered by value, ties by lower id first; each filter
// keeps a prefix of that order, so a filtered distribution is the logits plus one cut. A cut is
// found by radix selection on the bits of the values: nothing is sorted, and the worst case (all
// values equal) costs what every other case costs. Pure functions.

#include <cstdint>
#include <limits>
#include <span>

#include "batch/lanes.h"
#include "batch/row_tops.h"

namespace foretoken {

// Keeps values above x, and those equal to x up to last_id.
struct Cut {
  float x = kMinusInfinity;
  std::int32_t last_id = std::numeric_limits<std::int32_t>::max();

  bool keeps(float value, std::int32_t id) const {
    return value > x || (value == x && id <= last_id);
  }
};

// The k best of `logits`; k >= 1. No NaN in logits.
Cut cut_top_k(std::span<const float> logits, const RowTops& tops, int k);

// The shortest prefix of what `within` keeps whose share of the probability mass reaches p; the
// token that crosses p is kept, so at least one is.
Cut cut_top_p(std::span<const float> logits, const RowTops& tops, const Cut& within, float p);

// What `within` keeps and is at least min_p times as probable as the best token.
Cut cut_min_p(float max, const Cut& within, float min_p);

}  // namespace foretoken
