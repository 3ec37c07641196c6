#pragma once
// E4M3 as checkpoints keep it: 8 bits of which 4 are the exponent, no infinities, NaN where all
// bits but the sign are set. Pure functions.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace foretoken {

inline bool is_nan_e4m3(std::uint8_t bits) { return (bits & 0x7fU) == 0x7fU; }

inline float e4m3_to_f32(std::uint8_t bits) {
  if (is_nan_e4m3(bits)) return std::nanf("");
  const int exponent = (bits >> 3U) & 15U, mantissa = bits & 7U;
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(mantissa), -9)
                              : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  return (bits & 0x80U) != 0 ? -magnitude : magnitude;
}

// The nearest code, ties to even; what lies beyond 448 is 448. x is a number.
inline std::uint8_t f32_to_e4m3(float x) {
  constexpr float kLeastNormal = 0x1p-6F;
  constexpr float kSteps = 0x1.8p14F;  // its last place is that of codes below kLeastNormal
  constexpr std::uint32_t kRebias = (127U - 7U) << 3U;
  const float magnitude = std::min(std::abs(x), 448.0F);
  const auto bits = std::bit_cast<std::uint32_t>(magnitude);
  const std::uint32_t low =
      std::bit_cast<std::uint32_t>(magnitude + kSteps) - std::bit_cast<std::uint32_t>(kSteps);
  const std::uint32_t high = ((bits + 0x7ffffU + (bits >> 20U & 1U)) >> 20U) - kRebias;
  const std::uint32_t sign = std::bit_cast<std::uint32_t>(x) >> 24U & 0x80U;
  return static_cast<std::uint8_t>(sign | (magnitude < kLeastNormal ? low : high));
}

}  // namespace foretoken
