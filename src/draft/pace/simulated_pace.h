#pragma once
// SimulatedPace: a MeasuredPace for a target whose acceptance is simulated: what the draft model
// thinks of its drafts says nothing then. A draft is taken for as good as the simulation makes it:
// the first candidate of each level below the first of the level above is accepted as often as a
// draft of its depth, no other ever. Not for serving. Engine thread only.

#include <utility>
#include <vector>

#include "draft/pace/measured_pace.h"

namespace foretoken {

class SimulatedPace final : public MeasuredPace {
 public:
  // chances: by level, that a draft of this depth is accepted.
  explicit SimulatedPace(std::vector<float> chances, Clock clock = steady_seconds)
      : MeasuredPace(std::move(clock)), chances_(std::move(chances)) {}

  void rate(int level, std::span<float> probabilities) const override;

 private:
  const std::vector<float> chances_;
};

}  // namespace foretoken
