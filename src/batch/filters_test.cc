#include "batch/filters.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace foretoken::filters_test {
namespace {

std::vector<float> random_row(std::size_t size, std::uint64_t seed, float step) {
  std::vector<float> x(size);
  for (std::size_t i = 0; i < size; ++i) {
    const double u = static_cast<double>(mix_seed(seed, i) >> 11U) * 0x1p-53;
    const auto value = static_cast<float>(u * 20.0 - 12.0);
    x[i] = step > 0.0F ? std::floor(value / step) * step : value;
  }
  return x;
}

// The order that cuts are prefixes of, by sorting.
std::vector<std::int32_t> by_value(const std::vector<float>& x) {
  std::vector<std::int32_t> ids(x.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(), [&](std::int32_t a, std::int32_t b) {
    return x[static_cast<std::size_t>(a)] > x[static_cast<std::size_t>(b)];
  });
  return ids;
}

std::vector<std::int32_t> kept(const std::vector<float>& x, const Cut& cut) {
  std::vector<std::int32_t> ids;
  for (const std::int32_t i : by_value(x))
    if (cut.keeps(x[static_cast<std::size_t>(i)], i)) ids.push_back(i);
  return ids;
}

std::vector<std::int32_t> naive_top_p(const std::vector<float>& x, std::size_t k, float p) {
  auto ids = by_value(x);
  ids.resize(std::min(k, ids.size()));
  const float max = x[static_cast<std::size_t>(ids[0])];
  const auto weight = [&](std::int32_t i) {
    return std::exp(static_cast<double>(x[static_cast<std::size_t>(i)]) - max);
  };
  double all = 0.0;
  for (const std::int32_t i : ids) all += weight(i);
  double sum = 0.0;
  std::size_t count = 0;
  while (count < ids.size() && (count == 0 || sum < all * p)) sum += weight(ids[count++]);
  ids.resize(count);
  return ids;
}

TEST(Filters, top_k_keeps_the_k_best_and_breaks_ties_by_id) {
  for (const float step : {0.0F, 0.5F, 30.0F})
    for (const std::size_t size : {1U, 5U, 16U, 33U, 1000U})
      for (const int k : {1, 2, 7, 16, 31, 999, 1000, 5000}) {
        const auto x = random_row(size, size + static_cast<std::size_t>(k), step);
        auto expected = by_value(x);
        expected.resize(std::min(expected.size(), static_cast<std::size_t>(k)));
        EXPECT_EQ(kept(x, cut_top_k(x, RowTops::of(x), k)), expected) << size << " values, k " << k;
      }
}

TEST(Filters, top_p_keeps_the_token_that_crosses) {
  for (const float step : {0.0F, 0.25F})
    for (const std::size_t size : {1U, 17U, 500U})
      for (const float p : {0.0F, 0.011F, 0.31F, 0.5003F, 0.9207F, 0.9991F}) {
        const auto x = random_row(size, size, step);
        EXPECT_EQ(kept(x, cut_top_p(x, RowTops::of(x), {}, p)), naive_top_p(x, size, p))
            << size << " values, p " << p;
        EXPECT_EQ(kept(x, cut_top_p(x, RowTops::of(x), cut_top_k(x, RowTops::of(x), 9), p)),
                  naive_top_p(x, 9, p))
            << size << " values, top 9, p " << p;
      }
}

TEST(Filters, top_p_of_equal_values_keeps_the_lowest_ids) {
  const std::vector<float> x(100, -3.0F);
  EXPECT_EQ(kept(x, cut_top_p(x, RowTops::of(x), {}, 0.25F)).size(), 25U);
  EXPECT_EQ(kept(x, cut_top_p(x, RowTops::of(x), {}, 0.25F)).back(), 24);
}

TEST(Filters, top_p_of_one_keeps_everything) {
  const std::vector<float> x{0.0F, -80.0F, kMinusInfinity};
  EXPECT_EQ(kept(x, cut_top_p(x, RowTops::of(x), {}, 1.0F)).size(), 3U);
}

TEST(Filters, both_zeros_are_one_value) {
  const std::vector<float> x{-0.0F, 0.0F, -0.0F, 0.0F};
  EXPECT_EQ(kept(x, cut_top_k(x, RowTops::of(x), 2)), (std::vector<std::int32_t>{0, 1}));
}

TEST(Filters, min_p_is_relative_to_the_best_token) {
  const std::vector<float> x{2.0F, 2.0F + std::log(0.31F), 2.0F + std::log(0.29F), -50.0F};
  EXPECT_EQ(kept(x, cut_min_p(2.0F, {}, 0.3F)), (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(kept(x, cut_min_p(2.0F, {}, 0.0F)).size(), 4U);
  EXPECT_EQ(kept(x, cut_min_p(2.0F, {}, 1.0F)), (std::vector<std::int32_t>{0}));
  EXPECT_EQ(kept(x, cut_min_p(2.0F, cut_top_k(x, RowTops::of(x), 1), 0.1F)),
            (std::vector<std::int32_t>{0}));
}

TEST(Filters, a_min_p_however_small_is_a_limit) {
  for (const float min_p : {5e-4F, 1e-6F, 1e-20F}) {
    const float border = std::log(min_p);
    const std::vector<float> x{2.0F, 2.1F + border, 1.9F + border, kMinusInfinity};
    EXPECT_EQ(kept(x, cut_min_p(2.0F, {}, min_p)), (std::vector<std::int32_t>{0, 1})) << min_p;
  }
}

TEST(Lanes, exp_is_accurate_and_ends_in_zero) {
  for (int i = 0; i < 200000; ++i) {
    const float x = -87.0F * static_cast<float>(i) / 200000.0F;
    const double exact = std::exp(static_cast<double>(x));
    ASSERT_NEAR(exp_nonpositive(x) / exact, 1.0, 3e-7) << x;
  }
  EXPECT_EQ(exp_nonpositive(0.0F), 1.0F);
  EXPECT_EQ(exp_nonpositive(-87.5F), 0.0F);
  EXPECT_EQ(exp_nonpositive(kMinusInfinity), 0.0F);
}

TEST(Filters, what_lies_far_below_counts_where_what_is_near_falls_short) {
  std::vector<float> logits(20000, 0.0F);
  logits[77] = 9.5F;
  const Cut three = cut_top_k(logits, RowTops::of(logits), 3);
  EXPECT_EQ(three.x, 0.0F);
  EXPECT_EQ(three.last_id, 1);
  const double each = std::exp(-9.5), goal = 0.6 * (1 + 19999 * each);
  const Cut share = cut_top_p(logits, RowTops::of(logits), {}, 0.6F);
  EXPECT_EQ(share.x, 0.0F);
  EXPECT_NEAR(share.last_id, (goal - 1) / each, 2);
}

TEST(Filters, what_stands_beside_the_greatest_counts_no_more_than_what_stands_far_from_it) {
  std::vector<float> logits(4096, -30.0F);
  logits[5] = 10;
  logits[6] = 9;
  logits[2000] = logits[3000] = 1;  // more than 8 below, but above all that stand beside
  EXPECT_EQ(kept(logits, cut_top_k(logits, RowTops::of(logits), 3)),
            (std::vector<std::int32_t>{5, 6, 2000}));
  EXPECT_EQ(kept(logits, cut_top_k(logits, RowTops::of(logits), 4)),
            (std::vector<std::int32_t>{5, 6, 2000, 3000}));
  EXPECT_EQ(kept(logits, cut_top_p(logits, RowTops::of(logits), {}, 0.99985F)),
            (std::vector<std::int32_t>{5, 6, 2000}));
}

// More of the best share a part than there are parts with any of them, and the other way round.
TEST(Filters, top_k_is_found_wherever_the_best_lie) {
  for (const int distance : {1, 63, 64, 65, 200})
    for (const int k : {1, 5, 40, 100, 150}) {
      std::vector<float> logits(9000, -5.0F);
      for (int i = 0; i < 40; ++i)
        logits[static_cast<std::size_t>(100 + i * distance)] = static_cast<float>(i % 7);
      auto expected = by_value(logits);
      expected.resize(static_cast<std::size_t>(k));
      EXPECT_EQ(kept(logits, cut_top_k(logits, RowTops::of(logits), k)), expected)
          << distance << " apart, k " << k;
    }
}

}  // namespace
}  // namespace foretoken::filters_test
