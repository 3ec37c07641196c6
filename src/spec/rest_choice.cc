#include "spec/rest_choice.h"

#include <algorithm>

namespace foretoken {
namespace {

constexpr int kTrial = 8;    // steps
constexpr int kMemory = 24;  // steps of a sequence that count
constexpr double kUsualMemory = 32;
// What says that drafting does not pay for others either: more than chance, in tokens per step.
constexpr double kPoor = -0.1;
constexpr double kMostLoss = -1;  // of one step: the first trees are grown in ignorance of costs
constexpr int kShortestPause = 64, kLongestPause = 1024;  // steps

}  // namespace

RestChoice::RestChoice() : pause_(kShortestPause) {}

bool RestChoice::is_trial() const { return steps_ < kTrial; }

void RestChoice::open(SeqSlot slot) {
  if (slots_.size() <= at(slot)) slots_.resize(at(slot) + 1);
  slots_[at(slot)] = {.rests = usual_gain_ < kPoor && !is_trial()};
}

void RestChoice::add_step() {
  if (++steps_ < pause_) return;
  steps_ = 0;
  pause_ = usual_gain_ < kPoor ? std::min(2 * pause_, kLongestPause) : kShortestPause;
  for (Slot& slot : slots_)
    if (slot.rests) slot = {};
}

void RestChoice::add_gain(SeqSlot slot, double tokens) {
  Slot& s = slots_[at(slot)];
  tokens = std::max(tokens, kMostLoss);
  s.steps = std::min(s.steps + 1, kMemory);
  s.gain += (tokens - s.gain) / s.steps;
  usual_gain_ += (tokens - usual_gain_) / kUsualMemory;
  // The fewer steps, the more of their mean is chance.
  s.rests = s.steps >= kTrial && s.gain * s.steps < -1;
}

}  // namespace foretoken
