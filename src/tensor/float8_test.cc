#include "tensor/float8.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(Float8, e4m3_counts_up_from_zero_to_448) {
  EXPECT_EQ(e4m3_to_f32(0), 0.0F);
  EXPECT_EQ(e4m3_to_f32(1), 0x1p-9F);
  EXPECT_EQ(e4m3_to_f32(7), 7 * 0x1p-9F);
  EXPECT_EQ(e4m3_to_f32(8), 0x1p-6F);
  EXPECT_EQ(e4m3_to_f32(0x38), 1.0F);
  EXPECT_EQ(e4m3_to_f32(0x7e), 448.0F);
  for (unsigned bits = 0; bits < 0x7e; ++bits)
    EXPECT_LT(e4m3_to_f32(static_cast<std::uint8_t>(bits)),
              e4m3_to_f32(static_cast<std::uint8_t>(bits + 1)));
}

TEST(Float8, e4m3_has_two_signs_and_two_that_are_not_numbers) {
  for (unsigned bits = 0; bits < 0x7f; ++bits) {
    const auto plus = static_cast<std::uint8_t>(bits),
               minus = static_cast<std::uint8_t>(bits | 128);
    EXPECT_FALSE(is_nan_e4m3(plus) || is_nan_e4m3(minus));
    EXPECT_EQ(e4m3_to_f32(minus), -e4m3_to_f32(plus));
    EXPECT_TRUE(std::signbit(e4m3_to_f32(minus)));
  }
  for (const std::uint8_t bits : {std::uint8_t{0x7f}, std::uint8_t{0xff}}) {
    EXPECT_TRUE(is_nan_e4m3(bits));
    EXPECT_TRUE(std::isnan(e4m3_to_f32(bits)));
  }
}

TEST(Float8, floats_become_the_nearest_code_and_ties_the_even_one) {
  for (int code = 0; code < 0x7e; ++code) {
    const auto here = static_cast<std::uint8_t>(code), next = static_cast<std::uint8_t>(code + 1);
    const float middle = (e4m3_to_f32(here) + e4m3_to_f32(next)) / 2;
    EXPECT_EQ(f32_to_e4m3(e4m3_to_f32(here)), here);
    EXPECT_EQ(f32_to_e4m3(middle), code % 2 == 0 ? here : next) << code;
    EXPECT_EQ(f32_to_e4m3(std::nextafter(middle, 0.0F)), here) << code;
    EXPECT_EQ(f32_to_e4m3(-std::nextafter(middle, 500.0F)), next | 0x80) << code;
  }
  for (const float far : {448.0F, 449.0F, 464.0F, 1e30F}) EXPECT_EQ(f32_to_e4m3(far), 0x7e);
  EXPECT_EQ(f32_to_e4m3(-0.0F), 0x80);
}

}  // namespace
}  // namespace foretoken
