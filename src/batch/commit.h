#pragma once
// What a step makes of a sequence's facts in the table.

#include "batch/batch.h"
#include "batch/state_blocks.h"

namespace foretoken {

// The chain of an entry and so many of its nodes are committed.
inline void commit(SeqTable& table, SeqSlot slot, std::size_t chain, std::size_t nodes) {
  const auto at = static_cast<std::size_t>(slot);
  const auto rows = static_cast<std::int32_t>(chain), kept = static_cast<std::int32_t>(nodes);
  table.state[at] ^= static_cast<std::uint8_t>(state_changes(table.length[at], rows, kept) & 1);
  table.length[at] += rows + kept;
}

}  // namespace foretoken
