#pragma once
// RowTops: the greatest values of a row of logits, part by part, so that a search for great
// values reads only the parts that have them. Of the row as it was when they were made.

#include <cstddef>
#include <span>
#include <vector>

#include "batch/row_loops.h"

namespace foretoken {

struct RowTops {
  std::vector<float> parts;  // of each RowLoops::kTop values; the last part may be shorter
  float max = 0.0F;          // of all; minus infinity for a row of barred tokens

  // No NaN in logits.
  static RowTops of(std::span<const float> logits);
  static std::size_t parts_of(std::size_t values) {
    return (values + RowLoops::kTop - 1) / RowLoops::kTop;
  }
};

}  // namespace foretoken
