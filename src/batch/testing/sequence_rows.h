#pragma once
// The rows of one sequence in a batch, for tests that do not look at pages. For tests only.

#include "batch/batch.h"

namespace foretoken {

// So many rows, of which the first ones are a chain; the rest is a tree, bushy unless it is said to
// be a path.
inline BatchSeq sequence_rows(std::int32_t rows, std::int32_t chain = 0, bool is_path = false) {
  return {.slot = 0,
          .first_row = 0,
          .rows = rows,
          .base = 0,
          .chain = chain,
          .first_page = 0,
          .num_pages = 0,
          .is_chain = is_path};
}

}  // namespace foretoken
