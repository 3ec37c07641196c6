#pragma once
// StepRig: sequences with a given context, on which a step of any size can be repeated. Exactly
// what the engine does in a step (layout, forward, logits, verify, kv_keep) without scheduling, so
// that its time can be set against the machine's roofs. Not an engine: sequences never grow.

#include <vector>

#include "backend/ops.h"
#include "batch/tree.h"
#include "model/runner.h"

namespace foretoken {

class StepRig {
 public:
  // Pages of the runner's KV store that one sequence with this context and such a prompt uses.
  static int pages_needed(int context, int longest_prompt);

  // References outlive the rig. context: committed tokens of each sequence before each step. The
  // runner has pages and room for states of `sequences`.
  StepRig(Ops& ops, Runner& runner, int context, int longest_prompt, int sequences);

  // Seconds of one step that verifies a tree of `nodes` nodes (1: plain decoding): a chain where
  // `nodes` is small, siblings of the root afterwards, so that almost all drafts are rejected.
  double time_verify(int nodes);
  // Seconds of one step of plain decoding for `count` sequences at once.
  double time_sequences(int count);
  // Seconds of the steps that compute `tokens` prompt tokens, 512 each, and sample the last.
  double time_prefill(int tokens);

 private:
  void fill(SeqSlot slot);
  double run(const StepPlan& plan, int base);

  Ops& ops_;
  Runner& runner_;
  int context_;
  DraftTrees trees_;
  SeqTable table_;
  Batch batch_;
  SamplingParams greedy_;
  std::vector<Token> prompt_;
};

}  // namespace foretoken
