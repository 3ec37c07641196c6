#pragma once
// What a gate is put through before it multiplies. Plain data.

#include <cstdint>

namespace foretoken {

enum class GateCurve : std::uint8_t { kSigmoid, kSilu, kNone };
inline constexpr int kGateCurves = 3;

}  // namespace foretoken
