#pragma once
// How many tokens the KV cache gets: what the memory share leaves beside the weights and the
// activations of the largest step, capped by what the flags and the machine allow. Pure functions;
// logs a warning where a wish is cut.

#include <cstddef>

#include "app/machine/machine.h"
#include "app/options/options.h"

namespace foretoken {

struct MemoryNeeds {
  std::size_t weight_bytes = 0;
  std::size_t text_bytes = 0;   // texts that drafts come from
  std::size_t page_bytes = 0;   // KV of one page, all layers
  std::size_t step_bytes = 0;   // activations of the largest step
  std::size_t state_bytes = 0;  // states of requests that run, and of cached texts
  int useful_tokens = 0;        // more than this would only cache old texts
  int context_tokens = 0;       // of the longest request

  std::size_t fixed_bytes() const { return weight_bytes + text_bytes + state_bytes + step_bytes; }
};

// KV capacity in tokens; the last page may hold less than it could. `memory` is the machine's
// before loading. Throws Error when not even one page fits.
int plan_kv_tokens(const MemoryOptions& options, const MachineMemory& memory,
                   const MemoryNeeds& needs);

}  // namespace foretoken
