#pragma once
// How many tokens the KV cache gets: what the memory share leaves beside the weights, capped by
// what the flags and the machine allow. Pure functions; logs a warning where a wish is cut.

#include <cstddef>

#include "app/machine.h"
#include "app/options.h"

namespace foretoken {

struct MemoryNeeds {
  std::size_t weight_bytes = 0;
  std::size_t page_bytes = 0;  // KV of one page, all layers
  int useful_tokens = 0;       // more than this would only cache old texts
};

// KV capacity in tokens, a multiple of kPageTokens. `memory` is the machine's before loading.
// Throws Error when not even one page fits.
int plan_kv_tokens(const MemoryOptions& options, const MachineMemory& memory,
                   const MemoryNeeds& needs);

}  // namespace foretoken
