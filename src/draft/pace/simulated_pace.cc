#include "draft/pace/simulated_pace.h"

#include <algorithm>

#include "base/index.h"

namespace foretoken {

void SimulatedPace::rate(int level, std::span<float> probabilities) const {
  std::ranges::fill(probabilities, 0.0F);
  const auto chance = [&](int of) { return at(of) < chances_.size() ? chances_[at(of)] : 0.0F; };
  const float above = level == 0 ? 1.0F : chance(level - 1);
  if (!probabilities.empty() && above > 0) probabilities[0] = chance(level) / above;
}

}  // namespace foretoken
