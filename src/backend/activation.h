#pragma once
// The activations of gated MLPs. Plain names; what they compute is said here and nowhere else.

#include <cstdint>

namespace foretoken {

enum class Activation : std::uint8_t {
  kSilu,      // x / (1 + e^-x)
  kGeluTanh,  // x / (1 + e^-2u), u = sqrt(2 / pi) * (x + 0.044715 x^3): (x / 2) * (1 + tanh(u))
  kGelu,      // (x / 2) * (1 + erf(x / sqrt(2)))
  // g / (1 + e^-1.702g) * (u + 1), with g = min(x, 7) and u the other factor within +-7
  kClampedSwiglu
};
inline constexpr int kActivations = 4;

}  // namespace foretoken
