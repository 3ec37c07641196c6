// Keys and values as codes of 8 bits: the definition against a search among all codes, and the
// kernels of every instruction set against the definition, byte for byte.
#include "backend/kv_codes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "backend/testing/ops_test_kit.h"

namespace foretoken {
namespace {

constexpr DType kCodes[] = {DType::kI8, DType::kF8E4M3, DType::kF8E5M2};

// All numbers that codes stand for, in ascending order: of the positive ones first what E4M3 and
// E5M2 say themselves, exponent and mantissa by hand.
struct Known {
  double value;
  std::uint8_t code;
};
std::vector<Known> known_codes(DType dtype) {
  std::vector<Known> known;
  if (dtype == DType::kI8) {
    for (int i = -127; i <= 127; ++i)
      known.push_back({double(i), static_cast<std::uint8_t>(static_cast<std::int8_t>(i))});
    return known;
  }
  const bool is_e4m3 = dtype == DType::kF8E4M3;
  const int mantissa = is_e4m3 ? 3 : 2, bias = is_e4m3 ? 7 : 15, steps = 1 << mantissa;
  const int end = is_e4m3 ? 0x7f : 0x7c;  // from here on NaN, or infinity
  for (int code = 1; code < end; ++code) {
    const int exponent = code >> mantissa, rest = code & (steps - 1);
    const double value = exponent == 0 ? std::ldexp(double(rest) / steps, 1 - bias)
                                       : std::ldexp(1.0 + double(rest) / steps, exponent - bias);
    const double read = is_e4m3 ? value * 0x1p-8 : value;
    known.push_back({read, static_cast<std::uint8_t>(code)});
    known.push_back({-read, static_cast<std::uint8_t>(code | 0x80)});
  }
  known.push_back({0.0, 0});
  std::ranges::sort(known, {}, &Known::value);
  return known;
}

// The nearest; of two as near the one with an even code.
double nearest(const std::vector<Known>& known, double value) {
  const Known* best = known.data();
  for (const Known& one : known) {
    const double gap = std::abs(one.value - value), least = std::abs(best->value - value);
    if (gap < least || (gap == least && one.code % 2 == 0)) best = &one;
  }
  return best->value;
}

// Around everything where rounding turns: each code, the middle between two, and what is next to
// them.
std::vector<float> border_values(DType dtype) {
  const std::vector<Known> known = known_codes(dtype);
  std::vector<float> values;
  for (std::size_t i = 0; i + 1 < known.size(); ++i) {
    const auto here = static_cast<float>(known[i].value);
    const auto middle = static_cast<float>((known[i].value + known[i + 1].value) / 2);
    for (const float value : {here, middle})
      for (const float to : {-INFINITY, value, INFINITY}) {
        const float near = std::nextafter(value, to);
        if (std::abs(near) <= last_kv_code(dtype)) values.push_back(near);
      }
  }
  return values;
}

TEST(KvCodes, a_code_stands_for_what_its_format_says) {
  for (const DType dtype : kCodes) {
    const auto known = known_codes(dtype);
    EXPECT_EQ(known.size(), dtype == DType::kI8 ? 255U : dtype == DType::kF8E4M3 ? 253U : 247U);
    for (const Known& one : known)
      EXPECT_EQ(kv_code_value(dtype, one.code), one.value) << dtype_name(dtype) << +one.code;
    EXPECT_EQ(last_kv_code(dtype), known.back().value);
  }
}

// A row that begins with the last code has the scale 1.
TEST(KvCodes, values_become_the_nearest_code_with_ties_to_even) {
  for (const DType dtype : kCodes) {
    const auto known = known_codes(dtype);
    std::mt19937_64 random(7);
    std::vector<float> values = border_values(dtype);
    const auto last = static_cast<double>(last_kv_code(dtype));
    for (int i = 0; i < 5000; ++i) {
      const double share = static_cast<double>(random() >> 11) * 0x1p-52 - 1.0;
      values.push_back(
          static_cast<float>(last * share * std::ldexp(1.0, -static_cast<int>(i % 30))));
    }
    for (const float value : values) {
      const float row[] = {last_kv_code(dtype), value};
      std::uint8_t codes[2];
      ASSERT_EQ(round_kv_row(dtype, row, 2, codes), 1.0F);
      ASSERT_EQ(kv_code_value(dtype, codes[0]), row[0]);
      ASSERT_EQ(kv_code_value(dtype, codes[1]), nearest(known, value))
          << dtype_name(dtype) << " " << value;
    }
  }
}

TEST(KvCodes, rows_that_are_nothing_and_rows_that_are_not_finite) {
  for (const DType dtype : kCodes) {
    std::vector<std::uint8_t> codes(3, 1);
    const std::vector<std::uint8_t> none(3, 0);
    const float nothing[] = {0.0F, -0x1.8p-101F, 0x1p-101F};
    EXPECT_EQ(round_kv_row(dtype, nothing, 3, codes.data()), 0.0F);
    EXPECT_EQ(codes, none);
    const float least[] = {0x1p-100F, 0.0F, -0x1p-101F};
    EXPECT_EQ(round_kv_row(dtype, least, 3, codes.data()), 0x1p-100F / last_kv_code(dtype));
    EXPECT_EQ(kv_code_value(dtype, codes[0]), last_kv_code(dtype));
    for (const float strange : {INFINITY, -INFINITY, std::numeric_limits<float>::quiet_NaN()}) {
      const float row[] = {1.0F, strange, 2.0F};
      codes.assign(3, 1);
      EXPECT_TRUE(std::isnan(round_kv_row(dtype, row, 3, codes.data())));
      EXPECT_EQ(codes, none);
    }
  }
}

// ---- kernels

// Rows of `dim` as the values, and turned by no angle as the keys, of one token each.
void expect_stored(Ops& ops, DType dtype, const std::vector<std::vector<float>>& rows,
                   const std::string& what) {
  const auto count = static_cast<std::int64_t>(rows.size());
  const auto dim = static_cast<std::int64_t>(rows[0].size());
  const int pages = static_cast<int>((count + kPageTokens - 1) / kPageTokens);
  const AttentionShape shape{
      .heads = 1, .kv_heads = 1, .head_dim = static_cast<int>(dim), .scale = 1.0F};
  const KvLayer kv = ops.alloc_kv(
      {.layers = 1, .kv_heads = 1, .head_dim = shape.head_dim, .dtype = dtype}, pages)[0];
  const RopeTable still{.cos = ops.alloc(DType::kF32, {count, 1}),
                        .sin = ops.alloc(DType::kF32, {count, 1}),
                        .rotary_dim = 0};
  const Tensor qkv = ops.alloc(DType::kF32, {count, 3 * dim}),
               q = ops.alloc(DType::kF32, {count, dim});
  Batch batch;
  batch.rows = static_cast<int>(count);
  for (std::int64_t r = 0; r < count; ++r) {
    std::copy(rows[at(r)].begin(), rows[at(r)].end(), qkv.row_f32(r) + dim);
    std::copy(rows[at(r)].begin(), rows[at(r)].end(), qkv.row_f32(r) + 2 * dim);
    batch.position.push_back(static_cast<std::int32_t>(r));
    batch.kv_slot.push_back(static_cast<std::int32_t>(r));
  }
  ops.rope_store_kv(qkv, still, {}, shape, batch, kv, q);
  for (std::int64_t r = 0; r < count; ++r) {
    std::vector<std::uint8_t> codes(at(dim));
    const float scale = round_kv_row(dtype, rows[at(r)].data(), dim, codes.data());
    const auto* k = static_cast<const std::uint8_t*>(kv.k.data());
    const auto* v = static_cast<const std::uint8_t*>(kv.v.data());
    for (const Tensor& scales : {kv.k_scale, kv.v_scale}) {
      if (std::isnan(scale))
        ASSERT_TRUE(std::isnan(scales.f32()[r])) << what << ", row " << r;
      else
        ASSERT_EQ(scales.f32()[r], scale) << what << ", row " << r;
    }
    for (std::int64_t d = 0; d < dim; ++d) {
      ASSERT_EQ(v[r * dim + d], codes[at(d)])
          << what << ", row " << r << ", value " << rows[at(r)][at(d)];
      ASSERT_EQ(k[(r / kPageTokens * dim + d) * kPageTokens + r % kPageTokens], codes[at(d)])
          << what << ", row " << r;
    }
  }
}

std::vector<std::string> all_backends() {
  auto names = cpu_isas();
  names.emplace_back("reference");
  return names;
}

TEST(KvCodes, every_backend_stores_the_same_bytes) {
  const FlushDenormals flush;  // as on every compute thread
  for (const DType dtype : kCodes) {
    const float last = last_kv_code(dtype);
    std::vector<std::vector<float>> borders;
    const std::vector<float> values = border_values(dtype);
    for (std::size_t i = 0; i < values.size(); i += 23) {
      auto& row = borders.emplace_back(
          values.begin() + static_cast<std::ptrdiff_t>(i),
          values.begin() + static_cast<std::ptrdiff_t>(std::min(i + 23, values.size())));
      row.resize(24, last);
      row[23] = last;
    }
    std::mt19937_64 random(3);
    std::normal_distribution<float> normal;
    std::vector<std::vector<float>> wild, small;
    for (int r = 0; r < 300; ++r) {
      const float unit = std::ldexp(1.0F, static_cast<int>(random() % 240) - 120);
      auto& row = wild.emplace_back();
      for (int d = 0; d < 80; ++d)
        row.push_back(normal(random) * unit * (d % 9 == 8 ? 0x1p-12F : 1.0F));
      small.push_back({row[0], row[1], row[2], -row[3], row[4], row[5]});
    }
    wild[5][77] = INFINITY;
    wild[6][3] = std::numeric_limits<float>::quiet_NaN();
    wild[7].assign(80, 0.0F);
    wild[8].assign(80, -0x1p-101F);
    wild[9].assign(80, 0x1p-100F);
    wild[10].assign(80, std::numeric_limits<float>::max());
    small[0][5] = -INFINITY;
    for (const std::string& isa : all_backends()) {
      const Machine m = machine(isa, 2);
      const std::string what = isa + ", " + std::string(dtype_name(dtype));
      expect_stored(*m.ops, dtype, borders, what + ", borders");
      expect_stored(*m.ops, dtype, wild, what + ", wild");
      expect_stored(*m.ops, dtype, small, what + ", small");
    }
  }
}

TEST(KvCodes, a_page_takes_half_and_its_scales) {
  const Machine m = machine("auto", 1);
  const auto bytes = [&](DType dtype) {
    return m.ops->kv_page_bytes({.layers = 3, .kv_heads = 2, .head_dim = 64, .dtype = dtype});
  };
  constexpr std::size_t kRows = std::size_t{2} * 3 * 2 * kPageTokens;  // of keys and of values
  EXPECT_EQ(bytes(DType::kBF16), kRows * 64 * 2);
  for (const DType dtype : kCodes) EXPECT_EQ(bytes(dtype), kRows * (64 + sizeof(float)));
}

}  // namespace
}  // namespace foretoken
