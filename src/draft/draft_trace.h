#pragma once
// DraftTrace: what one step verified for a request that asked to be told: the tree, who proposed
// what, and what became of it. Plain data; nobody computes with it. Of requests that do not ask none
// is made.

#include <cstdint>
#include <vector>

#include "base/types.h"

namespace foretoken {

struct TracedDraft {
  Token token = kNoToken;
  std::int32_t parent = -1;    // among the drafts; -1: the last token of the text
  float chance = 1;            // as DraftTrees::scores has it
  std::uint32_t drafters = 0;  // bit i: drafter i has proposed it; 0: it is not known who
};

struct DraftTrace {
  std::vector<TracedDraft> drafts;     // parents before children
  std::vector<std::int32_t> accepted;  // of them, those that became output, in its order
  int tokens = 0;                      // of output: the accepted ones, and mostly one of the model
};

}  // namespace foretoken
