#pragma once
// Arithmetic of the sampler, for plain loops of sixteen, which the compiler keeps in vector
// registers of whatever width a loop is compiled for. Multiplies and adds are separate (contraction
// is off), so the bits are the same on every CPU. Inline functions without state.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace foretoken {

inline constexpr std::size_t kLanes = 16;
inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// e^x for x <= 0 (minus infinity included), 0 below -87; relative error under 3e-7.
// x = n ln 2 + r with n an integer taken by adding 1.5 * 2^23; e^r by a polynomial of degree 6.
[[gnu::always_inline]] inline float exp_nonpositive(float x) {
  const bool vanishes = !(x >= -87.0F);
  const float bounded = vanishes ? -87.0F : x;
  const float shifted = bounded * 1.44269504F + 12582912.0F;
  const float n = shifted - 12582912.0F;
  const float r = (bounded - n * 0.693145752F) - n * 1.42860677e-6F;
  float p = 1.0F / 720.0F;
  p = p * r + 1.0F / 120.0F;
  p = p * r + 1.0F / 24.0F;
  p = p * r + 1.0F / 6.0F;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const std::uint32_t power = std::bit_cast<std::uint32_t>(shifted) << 23U;
  const float e = std::bit_cast<float>(std::bit_cast<std::uint32_t>(p) + power);
  return vanishes ? 0.0F : e;
}

}  // namespace foretoken
