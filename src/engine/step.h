#pragma once
// Step: one step of the engine, the same for prompts, decodes and speculation. It owns what lives
// from step to step on the device: the table of lengths and pages, the trees, the batch.
// Not a scheduler: it computes what a StepPlan says. Engine thread only.

#include <utility>
#include <vector>

#include "backend/ops.h"
#include "batch/batch.h"
#include "batch/logit_slices.h"
#include "batch/tree.h"
#include "model/target_model.h"
#include "spec/drafter.h"

namespace foretoken {

// How long the two halves of a step took.
struct StepSeconds {
  double verify = 0;  // layout, forward, sampling, keeping what was accepted
  double draft = 0;   // the drafter's: reading what was committed, growing new trees
};

// A launched step. On a CPU it has ended when launch() returns; where steps overlap, wait() is the
// place where the host meets the device.
class StepHandle {
 public:
  StepHandle(StepPlan plan, Walk walk, StepSeconds seconds)
      : plan_(std::move(plan)), walk_(std::move(walk)), seconds_(seconds) {}
  const StepPlan& plan() const { return plan_; }
  const StepSeconds& seconds() const { return seconds_; }
  Walk& wait() { return walk_; }  // in the order of plan().entries

 private:
  StepPlan plan_;
  Walk walk_;
  StepSeconds seconds_;
};

class Step {
 public:
  // All references outlive the step.
  // logit_slice_bytes: of logits that are in memory at once.
  Step(Ops& ops, TargetModel& target, Drafter& drafter, int slots,
       std::size_t logit_slice_bytes = kLogitSliceBytes);

  // Every entry's pages cover its length, its chain and its tree.
  StepHandle launch(StepPlan plan);

  SeqTable& table() { return table_; }
  DraftTrees& trees() { return trees_; }

 private:
  Walk verify(const StepPlan& plan, const Features& features);
  Walk verify_in_slices(const StepPlan& plan, const Features& features);
  void advance(const StepPlan& plan, const Walk& walk);

  Ops& ops_;
  TargetModel& target_;
  Drafter& drafter_;
  const DraftNeeds needs_;
  SeqTable table_;
  DraftTrees trees_;
  Batch batch_;
  const int slice_rows_;            // of logits
  Batch slice_;                     // batch_ with some of its sequences and logit rows
  std::vector<SeqSlot> growing_;    // slots whose next tree may have proposals
  std::vector<TreeLimits> limits_;  // of each of them
};

}  // namespace foretoken
