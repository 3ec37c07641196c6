#pragma once
// Drafter: proposes how sequences may continue. It never decides what is accepted and may be as
// wrong as it likes: only speed depends on it. Capabilities, never names: nobody asks which
// algorithm it is. Called by the engine thread, in the order open, (observe, propose)*, close per
// slot.

#include <cstdint>
#include <memory>
#include <span>

#include "base/shared_tokens.h"
#include "batch/batch.h"
#include "batch/tree.h"
#include "draft/draft_report.h"
#include "model/decoder/decoder.h"

namespace foretoken {

// What a drafter needs from each step; asked once at start.
struct DraftNeeds {
  FeatureTaps taps;
  int max_nodes = 1;        // root included
  bool runs_model = false;  // what it reads and proposes takes forwards
  bool foreseen = false;    // wants WalkSeq::foreseen
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

// What a drafter may know of a request that enters a slot.
struct DraftRequest {
  SharedTokens tokens = {};       // prompt, and output where it goes on after a preemption
  std::size_t prompt_tokens = 0;  // of them
  // Texts of other scopes must not inform what is drafted for this one.
  std::uint64_t scope = 0;
  SharedTokens prediction = {};  // what its client expects as the answer, if anything
  // Of its output, null: none. It stands behind the root whenever trees are grown, may be asked and
  // not moved, and is there as long as the slot is open.
  TokenConstraint* constraint = nullptr;
  DraftWish wish = {};
};

class Drafter {
 public:
  virtual ~Drafter() = default;
  virtual DraftNeeds needs() const = 0;
  // What it reads of the target in the next step: its needs, or nothing while nobody is drafted
  // for.
  virtual FeatureTaps taps() const { return needs().taps; }
  // Where it throws, for lack of memory, the slot stays closed. close() needs none, whatever was
  // thrown since.
  virtual void open(SeqSlot slot, const DraftRequest& request) = 0;
  virtual void close(SeqSlot slot) = 0;
  // What the rows refer to lives until the propose() that follows has returned.
  virtual void observe(const CommittedRows& rows) = 0;
  // Grows trees whose roots are planted already, that of slots[i] within limits[i].
  virtual void propose(std::span<const SeqSlot> slots, std::span<const TreeLimits> limits,
                       DraftTrees& trees) = 0;
  // Of the request in an open slot, since it was opened, as far as the drafter keeps count.
  virtual DraftReport report(SeqSlot) const { return {}; }
  // Of the drafts that stand for the next step of an open slot, in the order of its tree: bit i:
  // drafter i has proposed it. Where it has less than the tree, nobody knows. Valid until it
  // observes the step.
  virtual std::span<const std::uint32_t> origins(SeqSlot) { return {}; }
  // What it keeps of texts that have ended, it forgets.
  virtual void forget() {}
};

// Proposes nothing: every tree keeps its one node, which is plain decoding.
std::unique_ptr<Drafter> make_null_drafter();

}  // namespace foretoken
