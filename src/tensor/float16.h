#pragma once
// Scalar conversions between float and the 16-bit formats, as every kernel defines them:
// to bf16 and fp16 by round-to-nearest-even (bf16: denormal inputs flush to signed zero, NaN stays
// NaN), from them exactly. Pure functions.

#include <bit>
#include <cstdint>

namespace foretoken {

inline float bf16_to_f32(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

inline std::uint16_t f32_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U)
    return static_cast<std::uint16_t>((bits >> 16) | 0x40U);  // quiet NaN
  if (magnitude < 0x00800000U) return static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

float f16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_f16(float value);

}  // namespace foretoken
