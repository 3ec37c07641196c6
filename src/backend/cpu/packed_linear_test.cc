#include "backend/cpu/packed_linear.h"

#include <bit>
#include <vector>

#include <gtest/gtest.h>

#include "backend/cpu/convert.h"
#include "base/index.h"
#include "tensor/float16.h"

namespace foretoken {
namespace {

// Values that differ everywhere and are exact in fp16 and bf16 only now and then.
std::vector<float> numbers(std::int64_t count, float first) {
  std::vector<float> values(at(count));
  for (std::int64_t i = 0; i < count; ++i)
    values[at(i)] = first + 0.37F * static_cast<float>(i % 911);
  return values;
}

float through(DType dtype, float value) {
  if (dtype == DType::kBF16) return bf16_to_f32(f32_to_bf16(value));
  if (dtype == DType::kF16) return f16_to_f32(f32_to_f16(value));
  return value;
}

class PackedLinearTest : public testing::TestWithParam<DType> {};

TEST_P(PackedLinearTest, gather_row_returns_every_row_of_stacked_matrices) {
  ThreadPool pool(3, false);
  for (const std::int64_t in : {1, 31, 33, 512, 1100}) {
    std::vector<float> a = numbers(40 * in, -3.0F), b = numbers(7 * in, 5.0F);
    const std::vector<Tensor> parts{Tensor(a.data(), DType::kF32, {40, in}),
                                    Tensor(b.data(), DType::kF32, {7, in})};
    const CpuLinear w({.weights = parts, .biases = {}, .dtype = GetParam()}, pool);
    EXPECT_EQ(w.in_width(), in);
    EXPECT_EQ(w.out_width(), 47);
    EXPECT_EQ(w.bias(), nullptr);
    std::vector<float> row(at(in));
    for (std::int64_t n = 0; n < 47; ++n) {
      w.gather_row(n, row.data());
      const float* expected = n < 40 ? &a[at(n * in)] : &b[at((n - 40) * in)];
      for (std::int64_t k = 0; k < in; ++k) ASSERT_EQ(row[at(k)], through(GetParam(), expected[k]));
    }
  }
}

TEST_P(PackedLinearTest, matrices_of_one_size_are_found_side_by_side) {
  ThreadPool pool(3, false);
  constexpr std::int64_t kRows = 192, kIn = 33;
  std::vector<float> values = numbers(2 * kRows * kIn, -3.0F);
  const std::vector<Tensor> parts{Tensor(values.data(), DType::kF32, {kRows, kIn}),
                                  Tensor(&values[at(kRows * kIn)], DType::kF32, {kRows, kIn})};
  const CpuLinear w({.weights = parts, .biases = {}, .dtype = GetParam()}, pool);
  EXPECT_EQ(w.block(kRows / w.block_cols()) - w.block(0), w.block_stride() / 2);
  std::vector<float> row(at(kIn));
  for (std::int64_t n = 0; n < 2 * kRows; ++n) {
    w.gather_row(n, row.data());
    for (std::int64_t k = 0; k < kIn; ++k)
      ASSERT_EQ(row[at(k)], through(GetParam(), values[at(n * kIn + k)])) << n;
  }
}

TEST_P(PackedLinearTest, a_missing_bias_beside_others_is_zero) {
  ThreadPool pool(2, false);
  std::vector<float> weights = numbers(30 * 8, 0.0F), bias = numbers(20, 1.0F);
  const std::vector<Tensor> parts{Tensor(weights.data(), DType::kF32, {10, 8}),
                                  Tensor(weights.data(), DType::kF32, {20, 8})};
  const std::vector<Tensor> biases{Tensor(), Tensor(bias.data(), DType::kF32, {20})};
  const CpuLinear w({.weights = parts, .biases = biases, .dtype = GetParam()}, pool);
  ASSERT_NE(w.bias(), nullptr);
  for (int n = 0; n < 10; ++n) EXPECT_EQ(w.bias()[n], 0.0F);
  for (int n = 0; n < 20; ++n) EXPECT_EQ(w.bias()[10 + n], bias[at(n)]);
  for (int n = 30; n < 32; ++n) EXPECT_EQ(w.bias()[n], 0.0F);
}

INSTANTIATE_TEST_SUITE_P(DTypes, PackedLinearTest,
                         testing::Values(DType::kBF16, DType::kF16, DType::kF32),
                         [](const auto& info) { return std::string(dtype_name(info.param)); });

TEST(Convert, equal_dtypes_keep_every_bit_even_of_denormals_under_flush_to_zero) {
  const FlushDenormals flush;
  const std::vector<std::uint16_t> from{0x0001, 0x8001, 0x7f80, 0x7fc1, 0x3f80};
  std::vector<std::uint16_t> to(from.size());
  convert(from.data(), DType::kBF16, to.data(), DType::kBF16, 5);
  EXPECT_EQ(to, from);
}

TEST(Convert, every_pair_of_dtypes_rounds_to_nearest_even) {
  const std::vector<double> f64{1.0, -2.5, 1.00390625, 3.1415926, 65504.0};
  std::vector<float> f32(5);
  convert(f64.data(), DType::kF64, f32.data(), DType::kF32, 5);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(f32[i], static_cast<float>(f64[i]));
  for (const DType to : {DType::kBF16, DType::kF16}) {
    std::vector<std::uint16_t> bits(5);
    convert(f32.data(), DType::kF32, bits.data(), to, 5);
    std::vector<float> back(5);
    convert(bits.data(), to, back.data(), DType::kF32, 5);
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(back[i], through(to, f32[i]));
  }
}

}  // namespace
}  // namespace foretoken
