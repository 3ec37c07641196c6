#pragma once
// What a client may wish of the drafts for its request, and what became of them: plain data that
// travels with requests and answers. Wishes change speed only. A drafter may consist of several;
// they are numbered in the order in which they are named.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "batch/tree.h"

namespace foretoken {

inline constexpr std::size_t kMostDrafters = 5;  // in one tree

struct DraftWish {
  int max_nodes = kMaxTreeNodes;  // of its trees, root included; 1: nothing is drafted
  std::uint32_t drafters = ~0U;   // bit i: drafter i may draft for it
  bool is_traced = false;         // each step of it is told, see draft_trace.h

  bool allows_drafts() const { return max_nodes > 1 && drafters != 0; }
};

// Drafts of one origin. What several have found counts for each of them.
struct DraftTally {
  std::int64_t proposed = 0;
  std::int64_t accepted = 0;

  void add(const DraftTally& other) {
    proposed += other.proposed;
    accepted += other.accepted;
  }
};

// Of one request, or of all.
struct DraftReport {
  std::array<DraftTally, kMostDrafters> by_drafter;
  DraftTally predictions;     // those taken from a prediction
  std::int64_t steps = 0;     // that might have verified drafts
  std::int64_t drafted = 0;   // that did
  std::int64_t unwished = 0;  // that did not, because the request forbade it
  std::int64_t rested = 0;    // that did not, because drafting did not pay
  // Rows whose candidates were a model's most probable tokens, or drawn with the sampler's noise.
  std::int64_t greedy_rows = 0, coupled_rows = 0;

  void add(const DraftReport& other);
  // What came since an earlier state of it.
  DraftReport since(const DraftReport& before) const;
  // Why little was drafted: "request": it wished so; "acceptance": drafts did not come true, or
  // nobody had any; "cost": those that came true cost more than they saved. Empty: in most steps
  // something was drafted.
  std::string_view reason() const;
};

}  // namespace foretoken
