#pragma once
// Blocks of a text for layers that keep a state (backend/recurrent.h): which block a position is in,
// and which of a slot's two pages of states is in use. Pure functions.

#include <cstdint>

namespace foretoken {

inline constexpr int kStateTokens = 32;  // from one state that is kept to the next

constexpr std::int32_t state_block(std::int32_t position) { return position / kStateTokens; }

// How often a step changes from one page to the other: where its chain, however long, ends in
// another block than it began, and for each block that its accepted nodes complete.
constexpr std::int32_t state_changes(std::int32_t base, std::int32_t chain, std::int32_t nodes) {
  const std::int32_t tree = state_block(base + chain);
  return (tree != state_block(base) ? 1 : 0) + state_block(base + chain + nodes) - tree;
}

}  // namespace foretoken
