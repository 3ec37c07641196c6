#include "tensor/float16.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(Float16, every_half_survives_a_round_trip) {
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    const auto half = static_cast<std::uint16_t>(i);
    const float value = f16_to_f32(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(value))));
    } else {
      ASSERT_EQ(f32_to_f16(value), half) << i;
    }
  }
}

// The nearest half, found by bisection over all non-negative halves; ties to the even one.
std::uint16_t nearest_half(float magnitude) {
  std::uint16_t low = 0, high = 0x7c00;  // value(low) <= magnitude < value(high)
  if (magnitude >= 65520.0F) return 0x7c00;
  while (high - low > 1) {
    const auto middle = static_cast<std::uint16_t>((low + high) / 2);
    (f16_to_f32(middle) <= magnitude ? low : high) = middle;
  }
  const double below = f16_to_f32(low), above = high == 0x7c00 ? 65536.0 : f16_to_f32(high);
  const double to_low = magnitude - below, to_high = above - magnitude;
  if (to_low == to_high) return (low & 1U) == 0 ? low : high;
  return to_low < to_high ? low : high;
}

TEST(Float16, rounding_to_half_is_to_the_nearest_even) {
  // Steps of a prime number of bit patterns visit all exponents and many mantissas.
  for (std::uint64_t bits = 0; bits < 0x7f800000U; bits += 104729) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    ASSERT_EQ(f32_to_f16(value), nearest_half(value)) << value;
    ASSERT_EQ(f32_to_f16(-value), nearest_half(value) | 0x8000U) << value;
  }
  // Exactly half way between two halves, and one ulp on either side.
  for (std::uint16_t half = 0; half < 0x7bff; ++half) {
    const float middle =
        0.5F * (f16_to_f32(half) + f16_to_f32(static_cast<std::uint16_t>(half + 1)));
    for (const float value : {middle, std::nextafter(middle, 0.0F), std::nextafter(middle, 1e9F)})
      ASSERT_EQ(f32_to_f16(value), nearest_half(value)) << value;
  }
}

TEST(Float16, infinities_and_nan_stay_what_they_are) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(f32_to_f16(kInf), 0x7c00);
  EXPECT_EQ(f32_to_f16(-kInf), 0xfc00);
  EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(std::nanf("")))));
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::nanf("")))));
  EXPECT_EQ(bf16_to_f32(f32_to_bf16(-kInf)), -kInf);
}

TEST(BFloat16, rounding_is_to_the_nearest_even) {
  EXPECT_EQ(f32_to_bf16(1.0F), 0x3f80);
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3f808000U)), 0x3f80);  // tie, down to even
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3f818000U)), 0x3f82);  // tie, up to even
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3f808001U)), 0x3f81);
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
}

TEST(BFloat16, denormals_become_signed_zero) {
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(f32_to_bf16(-1e-39F), 0x8000);
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::min()), 0x0080);
}

}  // namespace
}  // namespace foretoken
