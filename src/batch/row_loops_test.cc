#include "batch/row_loops.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "batch/testing/guarded_row.h"

namespace foretoken {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Rows of all sorts: noise of several widths, ties, barred tokens, lengths that fill no block.
std::vector<std::vector<float>> rows() {
  std::vector<std::vector<float>> all;
  for (const std::size_t n : {1, 15, 16, 17, 63, 64, 1000, 1024, 1025, 5003})
    for (const float width : {0.0F, 0.01F, 3.0F, 200.0F}) {
      std::vector<float> row;
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t word = mix_seed(n, i);
        const float u = static_cast<float>(word >> 40) * 0x1p-24F;
        row.push_back(word % 11 == 0 ? -kInfinity : (u - 0.5F) * width);
      }
      all.push_back(std::move(row));
    }
  return all;
}

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

class RowLoopsTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    for (const RowLoops& loops : all_row_loops())
      if (loops.isa == GetParam()) mine_ = &loops;
    if (mine_ == nullptr) GTEST_SKIP() << "this machine lacks " << GetParam();
  }
  const RowLoops& baseline_ = all_row_loops().front();
  const RowLoops* mine_ = nullptr;
};

TEST_P(RowLoopsTest, rows_are_scaled_to_the_same_bits) {
  for (auto row : rows()) {
    row[0] = std::nanf("");
    row[row.size() / 2] = kInfinity;
    const auto given = row;
    for (const float temperature : {0.7F, 1.0F, 3.0F}) {
      const std::size_t parts = (row.size() + RowLoops::kTop - 1) / RowLoops::kTop;
      auto expected = row = given;
      std::vector<float> tops(parts + 1, 77.0F), expected_tops(parts + 1, 77.0F);
      const float max = baseline_.scale_and_clean(expected.data(), expected.size(), temperature,
                                                  expected_tops.data());
      EXPECT_TRUE(
          same_bits(max, mine_->scale_and_clean(row.data(), row.size(), temperature, tops.data())));
      EXPECT_EQ(tops, expected_tops);
      float greatest = -kInfinity;
      std::vector<float> seen(parts, -kInfinity);
      for (std::size_t i = 0; i < row.size(); ++i) {
        ASSERT_TRUE(same_bits(row[i], expected[i])) << i;
        float value = given[i] / temperature;
        if (std::isnan(value)) value = -kInfinity;
        ASSERT_EQ(row[i], std::min(value, 1e30F));
        seen[i / RowLoops::kTop] = std::max(seen[i / RowLoops::kTop], row[i]);
        greatest = std::max(greatest, row[i]);
      }
      EXPECT_EQ(max, greatest);
      seen.push_back(77.0F);  // nothing is written behind them
      EXPECT_EQ(tops, seen);
    }
  }
}

TEST_P(RowLoopsTest, maxima_and_their_places_are_the_same) {
  for (const auto& row : rows()) {
    const float max = mine_->max(row.data(), row.size());
    ASSERT_TRUE(same_bits(max, baseline_.max(row.data(), row.size())));
    const std::size_t place = mine_->first_equal(row.data(), row.size(), max);
    ASSERT_LT(place, row.size());
    EXPECT_EQ(place, baseline_.first_equal(row.data(), row.size(), max));
    EXPECT_EQ(mine_->first_equal(row.data(), row.size(), 1e9F), row.size());
  }
  EXPECT_EQ(mine_->max(nullptr, 0), -kInfinity);
}

TEST_P(RowLoopsTest, nothing_is_read_behind_a_row) {
  for (const auto& row : rows()) {
    GuardedRow guarded(row);
    float* const x = guarded.row().data();
    const float max = mine_->max(x, row.size());
    EXPECT_EQ(mine_->first_equal(x, row.size(), 1e9F), row.size());
    if (max == -kInfinity) continue;
    EXPECT_GT(mine_->sum_exp(x, row.size(), max), 0.0);
    std::vector<float> tops(row.size() / RowLoops::kTop + 1);
    EXPECT_EQ(mine_->scale_and_clean(x, row.size(), 1.0F, tops.data()), max);
  }
}

TEST_P(RowLoopsTest, sums_are_the_same_to_the_bit) {
  for (const auto& row : rows()) {
    const float max = baseline_.max(row.data(), row.size());
    if (max == -kInfinity) continue;
    const double found = mine_->sum_exp(row.data(), row.size(), max);
    ASSERT_EQ(found, baseline_.sum_exp(row.data(), row.size(), max));
    double truth = 0;
    for (const float x : row) truth += std::exp(static_cast<double>(x) - max);
    EXPECT_NEAR(found, truth, 1e-5 * truth);
  }
}

TEST_P(RowLoopsTest, noise_is_that_of_the_tokens) {
  std::array<std::uint32_t, kNoiseBlock> expected, words;
  std::array<bool, kNoiseBlock> was_greatest{};
  for (std::int32_t block = 0; block < 2000; ++block) {
    const std::uint64_t seed = mix_seed(5, static_cast<std::uint64_t>(block));
    const auto position = static_cast<std::int64_t>(mix_seed(seed, 0) >> 20U);
    const std::int32_t first = block * 64;
    noise_words_block(seed, position, first, expected);
    const auto greatest = std::max_element(expected.begin(), expected.end());
    was_greatest[static_cast<std::size_t>(greatest - expected.begin())] = true;
    words.fill(0);
    ASSERT_TRUE(mine_->noise_words(seed, position, first, *greatest, words.data()));
    ASSERT_EQ(words, expected);
    ASSERT_TRUE(mine_->noise_words(seed, position, first, 0, words.data()));
    ASSERT_FALSE(mine_->noise_words(seed, position, first, *greatest + 1, words.data()));
  }
  for (const bool was : was_greatest) EXPECT_TRUE(was);
}

TEST_P(RowLoopsTest, blocks_are_weighed_alike) {
  for (const auto& row : rows()) {
    if (row.size() < RowLoops::kBlock) continue;
    const float max = baseline_.max(row.data(), RowLoops::kBlock);
    for (const float floor : {-kInfinity, max - 1, max, max + 1})
      for (const float by : {max, std::nanf("")}) {
        std::vector<std::uint32_t> keys(RowLoops::kBlock), expected_keys(RowLoops::kBlock);
        std::vector<float> weights(RowLoops::kBlock), expected(RowLoops::kBlock);
        const auto groups = mine_->weigh(row.data(), floor, by, keys.data(), weights.data());
        ASSERT_EQ(groups,
                  baseline_.weigh(row.data(), floor, by, expected_keys.data(), expected.data()));
        EXPECT_EQ(keys, expected_keys);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          ASSERT_TRUE(same_bits(weights[i], expected[i]));
          const bool is_counted = (groups >> (i / RowLoops::kGroup) & 1) != 0;
          ASSERT_TRUE(is_counted || row[i] < floor);
          ASSERT_TRUE(!is_counted || keys[i] == order_key(row[i]));
        }
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, RowLoopsTest, testing::Values("baseline", "avx2", "avx512"),
                         [](const auto& info) { return info.param; });

TEST(OrderKey, orders_as_the_floats_do) {
  const std::array values{-kInfinity, -3.0F, -1e-30F, 0.0F, 1e-30F, 2.0F, kInfinity};
  for (std::size_t i = 0; i + 1 < values.size(); ++i)
    EXPECT_LT(order_key(values[i]), order_key(values[i + 1]));
  EXPECT_EQ(order_key(-0.0F), order_key(0.0F));
  for (const float value : values) EXPECT_EQ(value_of_key(order_key(value)), value);
}

}  // namespace
}  // namespace foretoken
