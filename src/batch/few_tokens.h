#pragma once
// The sampler on a row of logits of which only some tokens are known: those that can be drawn, as a
// device finds them (backend/vulkan/row_search.h). The same arithmetic on fewer values, so the token
// is the one that sample_row draws from the whole row. Not for rows with bias, bars, penalties, masks
// or log probabilities. Pure functions.

#include <cstdint>
#include <optional>
#include <span>

#include "batch/sampling.h"

namespace foretoken {

// By rising id.
struct FewTokens {
  std::span<const Token> tokens;
  std::span<const float> logits;
};

// Known are, of rows that are sampled
//   greedily          the best token, and those that the temperature makes its equals
//   with top-k        the k best, and those that the temperature makes equal to the last of them
//   from all tokens   those whose noise may win
// Nothing is returned where the k best are not all known, nor for no tokens: the row has no numbers,
// which sample_row tells.
std::optional<Token> sample_few(const FewTokens& row, const SamplingParams& params,
                                std::int64_t position);

}  // namespace foretoken
