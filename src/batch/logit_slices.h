#pragma once
// Rows of logits that are in memory at once: a slice. The logits of a whole step, its rows times
// the vocabulary, can be more than everything else it computes, and sampling or drafting from
// a row needs that row only. Small steps are one slice.

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace foretoken {

inline constexpr std::size_t kLogitSliceBytes = std::size_t{256} << 20;

inline int logit_slice_rows(std::int64_t vocab, std::size_t slice_bytes = kLogitSliceBytes) {
  const std::size_t row_bytes = static_cast<std::size_t>(vocab) * sizeof(float);
  return static_cast<int>(std::clamp<std::size_t>(slice_bytes / row_bytes, 1, 1 << 30));
}

}  // namespace foretoken
