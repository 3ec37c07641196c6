#pragma once
// What is read of a row of logits that is sampled: the whole row, or the few tokens that can be
// drawn, which the device finds and batch/few_tokens.h draws from. Which, a table in row_search.cc
// says. Not the search itself (vulkan_results.h). Pure functions.

#include <cstdint>

#include "backend/vulkan/calls.h"
#include "batch/batch.h"

namespace foretoken {

enum class RowNeed : std::uint8_t {
  kWhole,  // all logits
  kBest,   // the token of the greatest logit
  kTopK,   // the k best
  kNoisy   // those whose noise may win
};

// Of the rows of an entry's tree.
RowNeed row_need(const StepEntry& entry, std::int64_t vocab);

inline constexpr std::uint32_t kMostFound = 64;  // tokens of a search (shaders/find_tokens.comp)

// Tokens of a row that there is room for. More are as none: then the whole row is read.
std::uint32_t found_room(RowNeed need, const SamplingParams& params);

// The search of a row whose next token has a position.
SearchAt search_of(RowNeed need, const SamplingParams& params, std::int64_t position,
                   std::uint32_t row);
// The `count` greatest logits of a row, best first.
SearchAt search_of_top(std::uint32_t count, std::uint32_t row);

}  // namespace foretoken
