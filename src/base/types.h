#pragma once
// The integers everybody exchanges. Not strong types: they index plain arrays on host and device
// alike.

#include <cstdint>

namespace foretoken {

using Token = std::int32_t;    // id in the target's vocabulary
using SeqSlot = std::int32_t;  // index of a running sequence in the tables of fixed size
using PageId = std::int32_t;   // index of a page in the pool, shared by all models' KV stores

inline constexpr Token kNoToken = -1;

// Tokens per KV page. A multiple of 16, because kernels score keys in groups of 16 slots; a
// constant, because the key layout inside a page depends on it.
inline constexpr int kPageTokens = 16;

}  // namespace foretoken
