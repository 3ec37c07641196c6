#pragma once
// SlotChange: what changes about a slot between two steps: a sequence enters it, its list of pages
// changes, the sequence leaves. The scheduler sends changes with the next step. The thread that
// computes steps needs to know nothing else, and may be steps behind: changes are made in order.
// Plain data. Spans and pointers are those of the Sequence, which outlives the step that closes its
// slot.

#include <cstdint>
#include <vector>

#include "batch/batch.h"
#include "draft/drafter.h"

namespace foretoken {

// What a sequence brings with it.
struct SlotOpening {
  DraftRequest draft;  // its text, among others
  const SamplingParams* params = nullptr;
  std::int32_t stored = 0;     // leading tokens whose KV is in its pages
  std::int32_t snapshot = -1;  // of the states behind them; -1: there is none
  std::int32_t max_new = 0;    // tokens that it may generate, those of its text included
};

struct SlotChange {
  // kForget: drafters forget what they keep of texts that have ended; no slot is open then.
  enum class Kind : std::uint8_t { kOpen, kPages, kClose, kForget };
  Kind kind = Kind::kOpen;
  SeqSlot slot = -1;
  SlotOpening opening = {};     // of kOpen
  std::int32_t first_page = 0;  // of kPages: from this one on its pages are these
  std::vector<PageId> pages = {};
};

// The part of a change that concerns the table.
void apply(const SlotChange& change, SeqTable& table);

// A step that is to be computed, and what changes before it.
struct StepOrder : StepPlan {
  std::vector<SlotChange> changes;
};

}  // namespace foretoken
