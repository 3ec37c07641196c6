#pragma once
// TrialGroup: the few sequences for which drafts are tried while the others rest. Who is in it
// stays in it until the sequence ends, so that the draft model reads each text once. Not a choice
// of when to try. Engine thread only.

#include <vector>

#include "batch/batch.h"

namespace foretoken {

class TrialGroup {
 public:
  // Another sequence enters the slot; no model drafts for it, said afterwards.
  void open(SeqSlot slot);
  void spare(SeqSlot slot);

  bool has(SeqSlot slot) const { return is(slot, State::kIn); }
  // Whether no model drafts for any sequence of the plan.
  bool spares_all(const StepPlan& plan) const;
  int size() const { return size_; }
  // Makes it so many of those in the plan, as far as there are any; 0: none. Prompts that begin
  // are preferred: a model can read the whole text of those. A group that has begun takes no
  // others.
  void choose(const StepPlan& plan, int few);

 private:
  enum class State : char { kOut, kIn, kSpared };
  State& state(SeqSlot slot);
  bool is(SeqSlot slot, State state) const;
  void keep_present(const StepPlan& plan);
  void add(const StepPlan& plan, int few, bool only_new);

  std::vector<State> states_;  // by slot
  std::vector<char> is_here_;  // by slot: in the plan
  int size_ = 0;
};

}  // namespace foretoken
