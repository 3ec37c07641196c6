#pragma once
// Drafter: proposes how sequences may continue. It never decides what is accepted and may be as
// wrong as it likes: only speed depends on it. Capabilities, never names: nobody asks which
// algorithm it is. Called by the engine thread, in the order open, (observe, propose)*, close per
// slot.

#include <cstdint>
#include <memory>
#include <span>

#include "batch/batch.h"
#include "batch/tree.h"
#include "model/decoder.h"

namespace foretoken {

// What a drafter needs from each step; asked once at start.
struct DraftNeeds {
  FeatureTaps taps;
  int max_nodes = 1;         // root included
  bool host_tokens = false;  // wants the committed tokens on the host
  // KV slots behind the committed text that it writes while it drafts. Where pages are short it
  // gets none, and proposes nothing.
  int scratch_slots = 0;
};

// Facts about the rows of one step: what was computed and what the walk committed.
// For a committed row at position p, x[p] is its token, x[p + 1] its successor (the sampled token,
// or the next prompt token at the end of a chunk) and the features are those at p.
struct CommittedRows {
  const StepPlan& plan;
  const SeqTable& table;  // lengths include the rows committed
  const Batch& batch;
  const Walk& walk;
  const Features& features;
};

class Drafter {
 public:
  virtual ~Drafter() = default;
  virtual DraftNeeds needs() const = 0;
  // scope: texts of other scopes must not inform what is drafted for this one. Where it throws, for
  // lack of memory, the slot stays closed. close() needs none, whatever was thrown since.
  virtual void open(SeqSlot slot, std::span<const Token> tokens, std::uint64_t scope) = 0;
  virtual void close(SeqSlot slot) = 0;
  virtual void observe(const CommittedRows& rows) = 0;
  // Grows trees whose roots are planted already, that of slots[i] within limits[i].
  virtual void propose(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits,
                       DraftTrees& trees) = 0;
  // What it keeps of texts that have ended, it forgets.
  virtual void forget() {}
};

// Proposes nothing: every tree keeps its one node, which is plain decoding.
std::unique_ptr<Drafter> make_null_drafter();

}  // namespace foretoken
