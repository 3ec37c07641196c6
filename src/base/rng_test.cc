#include "base/rng.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/philox_lanes.h"

namespace foretoken {
namespace {

using Words = std::array<std::uint32_t, 4>;

// The known answers that come with the Random123 library.
TEST(Philox, gives_the_published_answers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0U, ~0U, ~0U, ~0U}, ~0ULL),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822ULL),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, lanes_are_counters_side_by_side) {
  const Words start{~0U - 3, 2, 3, 4};
  std::array<std::uint32_t, 64> words{};
  philox_lanes(start, 0x299f31d0a4093822ULL, words.data());
  for (std::uint32_t lane = 0; lane < 16; ++lane) {
    const Words known =
        philox({start[0] + lane, start[1], start[2], start[3]}, 0x299f31d0a4093822ULL);
    EXPECT_TRUE(std::equal(known.begin(), known.end(), words.begin() + 4 * lane)) << lane;
  }
}

double log_error_ulp(float x) {
  const double exact = std::log(static_cast<double>(x));
  const float nearest = static_cast<float>(exact);
  const double ulp = std::nextafter(std::fabs(nearest), 1e30F) - std::fabs(nearest);
  return std::fabs(log_f32(x) - exact) / ulp;
}

TEST(Log, is_within_two_ulp_everywhere) {
  double worst = 0.0;
  for (std::uint32_t bits = 0x00800000U; bits < 0x7f800000U; bits += 4099)
    worst = std::max(worst, log_error_ulp(std::bit_cast<float>(bits)));
  EXPECT_LT(worst, 2.0);
}

// Where the exponent changes, and next to one, where the logarithm vanishes.
TEST(Log, is_within_two_ulp_at_the_edges) {
  for (std::uint32_t exponent = 1; exponent < 255; ++exponent)
    for (const std::uint32_t mantissa :
         {0U, 1U, 0x3504f2U, 0x3504f3U, 0x3504f4U, 0x7ffffeU, 0x7fffffU}) {
      const float x = std::bit_cast<float>((exponent << 23U) | mantissa);
      if (x == 1.0F) continue;
      EXPECT_LT(log_error_ulp(x), 2.0) << x;
    }
  EXPECT_EQ(log_f32(1.0F), 0.0F);
}

TEST(Uniform, has_no_end_points) {
  EXPECT_EQ(uniform24(0), 0x1p-24F);
  EXPECT_EQ(uniform24(~0U), 1.0F - 0x1p-24F);
}

TEST(Gumbel, is_bounded_and_reaches_the_bound) {
  const float highest = gumbel_of_word(~0U), lowest = gumbel_of_word(0);
  EXPECT_LE(highest, kMaxGumbelNoise);
  EXPECT_NEAR(highest, 24 * std::log(2.0), 1e-4);
  EXPECT_NEAR(lowest, -std::log(24 * std::log(2.0)), 1e-4);
}

TEST(Gumbel, blocks_equal_single_draws) {
  std::array<float, 37> block;
  std::array<std::uint32_t, kNoiseBlock> words;
  const std::int64_t position = (std::int64_t{1} << 33) + 5;
  for (const std::int32_t first : {0, 4, 128, 151936}) {
    gumbel_noise_block(77, position, first, 37, block.data());
    noise_words_block(77, position, first, words);
    for (std::int32_t i = 0; i < 37; ++i) {
      EXPECT_EQ(block[static_cast<std::size_t>(i)], gumbel_noise(77, position, first + i));
      EXPECT_EQ(gumbel_of_word(words[static_cast<std::size_t>(i)]),
                gumbel_noise(77, position, first + i));
    }
  }
}

TEST(Gumbel, follows_its_law) {
  // Twenty cells of equal probability: P(g <= x) = exp(-exp(-x)).
  constexpr int kCells = 20, kDraws = 200000;
  std::vector<int> seen(kCells);
  for (int i = 0; i < kDraws; ++i) {
    const double p = std::exp(-std::exp(-static_cast<double>(gumbel_noise(5, i / 1000, i % 1000))));
    ++seen[static_cast<std::size_t>(p * kCells)];
  }
  double chi = 0.0;
  for (const int n : seen) chi += std::pow(n - kDraws / kCells, 2) / (kDraws / kCells);
  EXPECT_LT(chi, 49.0);  // 19 degrees of freedom, p = 2e-4
}

TEST(Gumbel, depends_on_every_argument) {
  const float g = gumbel_noise(1, 2, 3);
  EXPECT_NE(g, gumbel_noise(2, 2, 3));
  EXPECT_NE(g, gumbel_noise(1 + (std::uint64_t{1} << 40), 2, 3));
  EXPECT_NE(g, gumbel_noise(1, 3, 3));
  EXPECT_NE(g, gumbel_noise(1, 2 + (std::int64_t{1} << 40), 3));
  EXPECT_NE(g, gumbel_noise(1, 2, 4));
  EXPECT_NE(g, gumbel_noise(1, 2, 7));
}

TEST(MixSeed, separates_indices) {
  EXPECT_NE(mix_seed(1, 0), mix_seed(1, 1));
  EXPECT_NE(mix_seed(1, 0), mix_seed(2, 0));
  EXPECT_EQ(mix_seed(0, 0), 0xe220a8397b1dcdafULL);  // first output of splitmix64 from zero
}

}  // namespace
}  // namespace foretoken
