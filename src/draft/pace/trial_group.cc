#include "draft/pace/trial_group.h"

#include <algorithm>
#include <ranges>

#include "base/index.h"

namespace foretoken {

TrialGroup::State& TrialGroup::state(SeqSlot slot) {
  if (states_.size() <= at(slot)) states_.resize(at(slot) + 1, State::kOut);
  return states_[at(slot)];
}

void TrialGroup::open(SeqSlot slot) {
  size_ -= has(slot) ? 1 : 0;
  state(slot) = State::kOut;
}

void TrialGroup::spare(SeqSlot slot) {
  open(slot);
  state(slot) = State::kSpared;
}

bool TrialGroup::is(SeqSlot slot, State state) const {
  return slot >= 0 && at(slot) < states_.size() && states_[at(slot)] == state;
}

bool TrialGroup::spares_all(const StepPlan& plan) const {
  return std::ranges::all_of(
      plan.entries, [this](const StepEntry& entry) { return is(entry.slot, State::kSpared); });
}

void TrialGroup::choose(const StepPlan& plan, int few) {
  if (few > 0) keep_present(plan);
  if (few > 0 && size_ < few) {
    const bool has_begun = size_ > 0;
    add(plan, few, true);
    if (!has_begun) add(plan, few, false);
  }
  if (few > 0 || size_ == 0) return;
  for (State& state : states_)
    if (state == State::kIn) state = State::kOut;
  size_ = 0;
}

void TrialGroup::keep_present(const StepPlan& plan) {
  is_here_.assign(states_.size(), 0);
  for (const StepEntry& entry : plan.entries)
    if (at(entry.slot) < is_here_.size()) is_here_[at(entry.slot)] = 1;
  for (std::size_t slot = 0; slot < states_.size(); ++slot)
    if (states_[slot] == State::kIn && is_here_[slot] == 0) open(static_cast<SeqSlot>(slot));
}

// The newest first: they come last in a plan.
void TrialGroup::add(const StepPlan& plan, int few, bool only_new) {
  for (const StepEntry& entry : std::views::reverse(plan.entries)) {
    if (size_ >= few) return;
    State& its = state(entry.slot);
    if (its != State::kOut || (only_new && entry.generated > 0)) continue;
    its = State::kIn;
    ++size_;
  }
}

}  // namespace foretoken
