#pragma once
// Step: computes one step of the engine, the same for prompts, decodes and speculation. It owns
// what lives from step to step on the device: the table of lengths and pages, the trees, the batch,
// and what it must know of each sequence to go on without being told what was found. So the next
// step may be planned, from bounds, before this one is read.
// Not a scheduler: it computes what a StepOrder says. One thread at a time.

#include <functional>
#include <optional>
#include <vector>

#include "backend/ops.h"
#include "batch/batch.h"
#include "batch/logit_slices.h"
#include "batch/tree.h"
#include "draft/draft_trace.h"
#include "draft/drafter.h"
#include "engine/slot_change.h"
#include "model/target_model.h"

namespace foretoken {

// How long the two halves of a step took.
struct StepSeconds {
  double verify = 0;  // layout, forward, sampling, keeping what was accepted
  double draft = 0;   // the drafter's: reading what was committed, growing new trees
};

// What became of one sequence, beside what its walk found.
struct SeqOutcome {
  int drafts = 0;        // that were verified
  int next_nodes = 1;    // of the tree that stands for its next step
  DraftReport report;    // the drafter's, since the slot was opened
  int state_tokens = 0;  // whose states are in the entry's snapshot; 0: it was not written
  bool is_last = false;  // nothing follows what was found
  bool is_told = false;  // its consumer has the tokens already
  std::optional<DraftTrace> trace;  // where the request asked, of an entry with a tree
};

// Both in the order of the entries that were computed.
struct StepResult {
  Walk walk;
  std::vector<SeqOutcome> outcomes;
  StepSeconds seconds;
};

// Is told what a step has found before drafts are made from it, which may take longer than a token
// should wait. Of the walk, tokens and paths must stay.
using FoundTaker = std::function<void(const StepOrder&, StepResult&)>;

class Step {
 public:
  // All references outlive the step.
  // logit_slice_bytes: of logits that are in memory at once.
  Step(Ops& ops, TargetModel& target, Drafter& drafter, int slots,
       std::size_t logit_slice_bytes = kLogitSliceBytes);

  // Makes the changes, takes entries out whose text an earlier step has ended, and computes the
  // others. Every entry's pages cover its length, its chain and its tree.
  StepResult run(StepOrder& order, const FoundTaker& found = {});

  // After a failure, which may have left anything half done: all slots are closed. Allocates
  // nothing.
  void reset();

  // What the planner has to know.
  int slots() const { return trees_.slots(); }
  int max_nodes() const { return trees_.max_nodes(); }
  int scratch_slots() const { return needs_.scratch_slots; }

  // For checks and tests.
  SeqTable& table() { return table_; }
  DraftTrees& trees() { return trees_; }

 private:
  // A sequence as far as the next step depends on what was found in this one.
  struct Slot {
    bool is_open = false;
    bool has_ended = false;  // nothing follows what was found
    bool is_traced = false;
    const SamplingParams* params = nullptr;
    int generated = 0, tokens_left = 0;
    TokenCounts counts;  // kept only for requests with penalties
  };

  std::int32_t state_page(SeqSlot slot) const { return 2 * slot + table_.state[at(slot)]; }
  void make(const SlotChange& change);
  void open(SeqSlot slot, const SlotOpening& opening);
  void close(SeqSlot slot);
  void prepare(StepEntry& entry);
  void keep_states(const StepPlan& plan, StepResult& result);
  void verify(const StepPlan& plan, const Features& features, Walk& walk);
  void verify_in_slices(const StepPlan& plan, const Features& features, Walk& walk);
  void read_hidden(const StepPlan& plan, const Features& features, Walk& walk);
  void trace(const StepPlan& plan, StepResult& result);
  void advance(const StepPlan& plan, StepResult& result);
  void conclude(const StepPlan& plan, StepResult& result);

  Ops& ops_;
  TargetModel& target_;
  Drafter& drafter_;
  const DraftNeeds needs_;
  SeqTable table_;
  DraftTrees trees_;
  std::vector<Slot> slots_;
  Batch batch_;
  const int slice_rows_;            // of logits
  Batch slice_;                     // batch_ with some of its sequences and logit rows
  std::vector<SeqSlot> growing_;    // slots whose next tree may have proposals
  std::vector<TreeLimits> limits_;  // of each of them
};

}  // namespace foretoken
