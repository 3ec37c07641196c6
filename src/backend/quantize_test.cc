#include "backend/quantize.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "backend/testing/ops_test_kit.h"
#include "base/index.h"
#include "tensor/float16.h"

namespace foretoken {
namespace {

struct Row {
  std::vector<std::uint8_t> codes;
  std::vector<float> scales;
};
Row quantized(std::vector<float> values, const WeightFormat& format) {
  const auto width = static_cast<std::int64_t>(values.size());
  const QuantizedRows rows(Tensor(values.data(), DType::kF32, {1, width}), format);
  Row row{std::vector<std::uint8_t>(values.size()), std::vector<float>(at(format.groups(width)))};
  rows.read(0, row.codes.data(), row.scales.data(), nullptr);
  return row;
}
std::vector<float> widened(const Row& row, const WeightFormat& format) {
  std::vector<float> out(row.codes.size());
  widen_row(format, static_cast<std::int64_t>(out.size()), row.codes.data(), row.scales.data(),
            nullptr, out.data());
  return out;
}

constexpr WeightFormat kInt8{.bits = 8, .rounds_input = true};
constexpr WeightFormat kFloat8{.bits = 8, .is_float = true};
constexpr WeightFormat kInt4{.bits = 4, .group = 32, .scale = DType::kBF16, .rounds_input = true};

TEST(Quantize, eight_bits_have_both_signs_and_ties_go_to_even) {
  const Row row = quantized({-127.0F, 127.0F, 0.5F, 1.5F, -2.5F, 0.0F}, kInt8);
  EXPECT_EQ(row.scales, std::vector<float>{1.0F});
  EXPECT_EQ(row.codes, (std::vector<std::uint8_t>{1, 255, 128, 130, 126, 128}));
}

TEST(Quantize, of_four_bits_the_farthest_value_is_the_eighth_code_below_zero) {
  std::vector<float> values(40, 1.0F);
  values[3] = 16.0F;
  values[39] = -4.0F;
  const Row row = quantized(values, kInt4);
  EXPECT_EQ(row.scales, (std::vector<float>{-2.0F, 0.5F}));
  EXPECT_EQ(row.codes[3], 0);
  EXPECT_EQ(row.codes[39], 0);
  EXPECT_EQ(row.codes[0], 8);  // 1 / -2, a tie
  EXPECT_EQ(row.codes[32], 10);
  EXPECT_EQ(widened(row, kInt4)[3], 16.0F);
}

TEST(Quantize, of_floats_of_eight_bits_the_farthest_value_is_448) {
  const Row row = quantized({-896.0F, 2.0F, 34.0F, 0.0F, 0x1p-9F, -0x1.8p-8F}, kFloat8);
  EXPECT_EQ(row.scales, std::vector<float>{2.0F});
  EXPECT_EQ(widened(row, kFloat8),
            (std::vector<float>{-896.0F, 2.0F, 32.0F, 0.0F, 0.0F, -0x1p-7F}));
  EXPECT_TRUE(std::isnan(quantized({1.0F, std::nanf("")}, kFloat8).scales[0]));
}

TEST(Quantize, no_value_moves_by_more_than_half_a_step) {
  std::vector<float> values(at(320));
  for (std::int64_t i = 0; i < 320; ++i) values[at(i)] = value_of(1, 2, i);
  for (const WeightFormat& format : {kInt8, kInt4}) {
    const Row row = quantized(values, format);
    const auto back = widened(row, format);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float step = std::abs(row.scales[format.group == 0 ? 0 : i / 32]);
      // Of 4 bits the other end of the range has one code less and is cut off there; the scale is
      // rounded.
      const float most = format.bits == 8 ? 0.5F : 1.05F;
      EXPECT_LE(std::abs(back[i] - values[i]), most * step * 1.001F) << i;
    }
  }
}

TEST(Quantize, a_searched_scale_is_no_worse) {
  double plain = 0, searched = 0;
  WeightFormat search = kInt4;
  search.searches_scale = true;
  std::vector<float> values(at(32 * 50));
  for (std::int64_t i = 0; i < 32 * 50; ++i)
    values[at(i)] = value_of(1, 2, i) * value_of(3, 4, i) * value_of(5, 6, i);
  for (const auto& [format, sum] :
       {std::pair<WeightFormat, double*>{kInt4, &plain}, {search, &searched}}) {
    const auto back = widened(quantized(values, format), format);
    for (std::size_t i = 0; i < values.size(); ++i)
      *sum += std::pow(static_cast<double>(back[i]) - static_cast<double>(values[i]), 2);
  }
  EXPECT_LT(searched, 0.97 * plain);
}

TEST(Quantize, zeros_stay_zeros_and_what_is_not_finite_shows) {
  for (const WeightFormat& format : {kInt8, kInt4}) {
    for (const float value : widened(quantized(std::vector<float>(32), format), format))
      EXPECT_EQ(value, 0.0F);
    std::vector<float> values(32, 1.0F);
    values[5] = std::numeric_limits<float>::infinity();
    EXPECT_TRUE(std::isnan(quantized(values, format).scales[0]));
  }
}

TEST(Quantize, widened_weights_are_bf16_where_the_input_is) {
  WeightFormat format = kInt8;
  format.rounds_input = false;
  const auto back = widened(quantized({127.0F, 0.7F * 93.0F, 1.0F}, format), format);
  for (const float value : back) EXPECT_EQ(value, bf16_to_f32(f32_to_bf16(value)));
}

TEST(Quantize, inputs_are_rounded_to_127_codes_of_each_sign) {
  std::vector<std::int8_t> codes(4);
  const std::vector<float> x{254.0F, -254.0F, 5.0F, -3.0F};
  EXPECT_EQ(round_input(x.data(), 4, codes.data()), 2.0F);
  EXPECT_EQ(codes, (std::vector<std::int8_t>{127, -127, 2, -2}));
  const std::vector<float> tiny{1e-35F, 0.0F, 0.0F, 0.0F};
  EXPECT_EQ(round_input(tiny.data(), 4, codes.data()), 0.0F);
  const std::vector<float> strange{1.0F, std::nanf(""), 0.0F, 0.0F};
  EXPECT_TRUE(std::isnan(round_input(strange.data(), 4, codes.data())));
  EXPECT_EQ(codes, std::vector<std::int8_t>(4, 0));
}

// ---- Through Ops --------------------------------------------------------------------------------

TEST(Codes, linear_agrees_with_the_reference) {
  for (const bool rounds_input : {true, false})
    for (const WeightFormat& base : {kInt8, kInt4})
      for (const std::int64_t in : {7, 64, 161})
        for (const std::int64_t rows : {1, 5, 40}) {
          WeightFormat format = base;
          format.rounds_input = rounds_input;
          const auto run = [&](const Machine& m) {
            std::vector<float> w(at(45 * in)), x(at(rows * in)), y(at(rows * 45));
            for (std::size_t i = 0; i < w.size(); ++i)
              w[i] = value_of(4, 4, static_cast<std::int64_t>(i));
            for (std::size_t i = 0; i < x.size(); ++i)
              x[i] = value_of(6, 6, static_cast<std::int64_t>(i));
            const Tensor weight(w.data(), DType::kF32, {45, in});
            const auto packed =
                m.ops->pack({.weights = {&weight, 1}, .biases = {}, .format = format});
            m.ops->linear(*packed, Tensor(x.data(), DType::kF32, {rows, in}),
                          Tensor(y.data(), DType::kF32, {rows, 45}));
            Rows all{y};
            std::vector<float> embedded(at(2 * in));
            m.ops->embed(*packed, std::vector<Token>{44, 3},
                         Tensor(embedded.data(), DType::kF32, {2, in}));
            all.push_back(embedded);
            return all;
          };
          const double bound = static_cast<double>(in * in) * 4.0 * 0x1p-24;
          const Rows expected = run(machine("reference", 2));
          for (const std::string& isa : cpu_isas()) {
            const Rows found = run(machine(isa, 2));
            expect_near({found[0]}, {expected[0]}, bound, isa);
            expect_same_bytes({found[1]}, {expected[1]}, isa);
          }
        }
}

// What is joined gives the bits of its parts.
TEST(Codes, joined_operations_are_those_of_their_parts) {
  constexpr std::int64_t kIn = 128, kMiddle = 192;
  for (const bool rounds_input : {true, false})
    for (const WeightFormat& base : {kInt8, kInt4})
      for (const std::int64_t rows : {1, 3, 40})
        for (const std::string& isa : cpu_isas()) {
          WeightFormat format = base;
          format.rounds_input = rounds_input;
          const Machine m = machine(isa, 3);
          std::vector<float> w(at(2 * kMiddle * kIn)), v(at(kIn * kMiddle)), x(at(rows * kIn));
          for (std::size_t i = 0; i < w.size(); ++i)
            w[i] = value_of(4, 4, static_cast<std::int64_t>(i));
          for (std::size_t i = 0; i < v.size(); ++i)
            v[i] = value_of(5, 5, static_cast<std::int64_t>(i));
          for (std::size_t i = 0; i < x.size(); ++i)
            x[i] = value_of(6, 6, static_cast<std::int64_t>(i));
          const std::vector<Tensor> both{
              Tensor(w.data(), DType::kF32, {kMiddle, kIn}),
              Tensor(&w[at(kMiddle * kIn)], DType::kF32, {kMiddle, kIn})};
          const Tensor back(v.data(), DType::kF32, {kIn, kMiddle});
          const auto gate_up = m.ops->pack({.weights = both, .biases = {}, .format = format});
          const auto down = m.ops->pack({.weights = {&back, 1}, .biases = {}, .format = format});
          std::vector<float> joined(at(rows * kIn)), apart(joined.size()),
              middle(at(rows * 2 * kMiddle)), gated(at(rows * kMiddle));
          const Tensor in(x.data(), DType::kF32, {rows, kIn});
          m.ops->gated_mlp(*gate_up, *down, Activation::kSilu, in,
                           Tensor(joined.data(), DType::kF32, {rows, kIn}));
          const Tensor wide(middle.data(), DType::kF32, {rows, 2 * kMiddle});
          const Tensor narrow(gated.data(), DType::kF32, {rows, kMiddle});
          m.ops->linear(*gate_up, in, wide);
          m.ops->gated_act(wide, Activation::kSilu, narrow);
          m.ops->linear(*down, narrow, Tensor(apart.data(), DType::kF32, {rows, kIn}));
          expect_same_bytes({joined}, {apart}, isa);
        }
}

}  // namespace
}  // namespace foretoken
