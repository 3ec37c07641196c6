#pragma once
// E4M3 as checkpoints keep it: 8 bits of which 4 are the exponent, no infinities, NaN where all
// bits but the sign are set. Pure functions.

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

}  // namespace foretoken
