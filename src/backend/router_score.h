#pragma once
// What a router makes of its logits: the scores by which experts are chosen. Plain names.

#include <cstdint>

namespace foretoken {

enum class RouterScore : std::uint8_t {
  kSoftmax,  // over all experts
  kSigmoid,  // 1 / (1 + e^-x) of each
  kLogit     // as they are
};
inline constexpr int kRouterScores = 3;

}  // namespace foretoken
