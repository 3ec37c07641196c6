// Every product of weights of codes that this machine can compute against loops that spell it out,
// byte for byte: what rounds its input against sums of integers, what does not against the bf16
// product of the widened weights.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/cpu/matmul/gemm.h"
#include "backend/cpu/testing/kernel_tables.h"
#include "backend/quantize.h"
#include "backend/testing/coded_rows_test_kit.h"
#include "base/index.h"
#include "tensor/float16.h"
#include "tensor/float8.h"

namespace foretoken::dot_codes_rounded_test {
namespace {

std::uint32_t bits(float a) {
  return std::isnan(a) ? 0x7fc00000U : std::bit_cast<std::uint32_t>(a);
}

struct Problem {
  WeightFormat format;
  std::int64_t rows, in, out;
  RandomRows weights;
  std::vector<float> x, bias;

  Problem(const WeightFormat& format, std::int64_t rows, std::int64_t in, std::int64_t out,
          std::uint64_t seed)
      : format(format), rows(rows), in(in), out(out), weights(format, out, in, seed) {
    std::mt19937_64 random(seed + 1);
    std::normal_distribution<float> normal;
    for (std::int64_t i = 0; i < rows * in; ++i)
      x.push_back(normal(random) * std::ldexp(1.0F, static_cast<int>(random() % 12) - 6));
    if (random() % 2 == 0)
      for (std::int64_t i = 0; i < out; ++i) bias.push_back(normal(random));
  }

  CpuLinear pack(ThreadPool& pool, const Gemm& gemm) {
    const CodedRows* rows_of = &weights;
    const Tensor bias_view(bias.data(), DType::kF32, {out});
    LinearParts parts{.weights = {}, .biases = {}, .format = format, .codes = {&rows_of, 1}};
    if (!bias.empty()) parts.biases = {&bias_view, 1};
    return CpuLinear(parts, pool, gemm.code_layout());
  }

  // The input as its columns meet the weights.
  std::vector<float> ordered_x() const {
    if (!format.has_column_order) return x;
    std::vector<float> ordered;
    for (std::int64_t r = 0; r < rows; ++r)
      for (const std::int32_t column : weights.column_order())
        ordered.push_back(x[at(r * in + column)]);
    return ordered;
  }

  // The contract, for formats that round their input.
  std::vector<float> expected() const {
    const FlushDenormals flush;
    const std::vector<float> x = ordered_x();
    const std::int64_t groups = format.groups(in), group = format.group_width(in);
    std::vector<float> y;
    std::vector<std::uint8_t> codes(at(in)), zeros(at(groups));
    std::vector<float> scales(at(groups));
    std::vector<std::int8_t> input(at(group));
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t n = 0; n < out; ++n) {
        weights.read(n, codes.data(), scales.data(), zeros.data());
        float sum = 0;
        for (std::int64_t g = 0; g < groups; ++g) {
          const std::int64_t first = g * group, count = std::min(group, in - first);
          const float x_scale = round_input(&x[at(r * in + first)], count, input.data());
          const int zero = format.has_zero_points ? zeros[at(g)] : format.zero();
          std::int32_t products = 0;
          for (std::int64_t k = 0; k < count; ++k)
            products += (codes[at(first + k)] - zero) * input[at(k)];
          const float scale = x_scale * scales[at(g)];
          sum = std::fma(static_cast<float>(products), scale, sum);
        }
        y.push_back(bias.empty() ? sum : sum + bias[at(n)]);
      }
    return y;
  }

  // The weights as bf16, for those that do not.
  std::vector<float> widened() const {
    std::vector<float> all(at(out * in)), scales(at(format.groups(in)));
    std::vector<std::uint8_t> codes(at(in)), zeros(scales.size());
    std::uint8_t* const given = format.has_zero_points ? zeros.data() : nullptr;
    for (std::int64_t n = 0; n < out; ++n) {
      weights.read(n, codes.data(), scales.data(), given);
      widen_row(format, in, codes.data(), scales.data(), given, &all[at(n * in)]);
    }
    return all;
  }
};

std::vector<float> multiply(Gemm& gemm, const CpuLinear& w, const float* x, std::int64_t rows) {
  constexpr std::size_t kGuard = 64;
  const float sentinel = std::bit_cast<float>(0xdeadbeefU);
  const std::size_t size = at(rows * w.out_width());
  std::vector<float> y(2 * kGuard + size, sentinel);
  gemm.expect_weights(w);
  gemm.run(w, x, static_cast<int>(rows), y.data() + kGuard);
  for (std::size_t i = 0; i < kGuard; ++i) {
    EXPECT_EQ(bits(y[i]), bits(sentinel));
    EXPECT_EQ(bits(y[kGuard + size + i]), bits(sentinel));
  }
  return {y.begin() + kGuard, y.begin() + static_cast<std::ptrdiff_t>(kGuard + size)};
}

void expect_equal(const std::vector<float>& found, const std::vector<float>& expected,
                  const std::string& what) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_EQ(bits(found[i]), bits(expected[i]))
        << what << ", output " << i << ": " << found[i] << " for " << expected[i];
}

// The product of weights that keep their input, and of bf16 of what they stand for.
void expect_as_widened(Gemm& gemm, ThreadPool& pool, const Problem& p, const CpuLinear& w,
                       const std::string& what) {
  std::vector<float> wide = p.widened();
  const Tensor weight(wide.data(), DType::kF32, {p.out, p.in});
  std::vector<float> of_outputs = p.bias;
  const Tensor bias(of_outputs.data(), DType::kF32, {p.out});
  LinearParts parts{.weights = {&weight, 1}, .biases = {}};
  if (!p.bias.empty()) parts.biases = {&bias, 1};
  const CpuLinear bf16(parts, pool);
  expect_equal(multiply(gemm, w, p.x.data(), p.rows),
               multiply(gemm, bf16, p.ordered_x().data(), p.rows), what);
}

std::vector<WeightFormat> all_formats(bool rounds_input) {
  std::vector<WeightFormat> formats;
  for (const int bits : {8, 4})
    for (const std::int64_t group : {0, 32, 64, 96, 128})
      for (const bool has_zero_points : {false, true})
        formats.push_back({.bits = bits,
                           .group = group,
                           .scale = group == 0    ? DType::kF32
                                    : group == 32 ? DType::kBF16
                                                  : DType::kF16,
                           .has_zero_points = has_zero_points,
                           .rounds_input = rounds_input});
  if (!rounds_input)
    for (const std::int64_t group : {0, 32, 128})
      formats.push_back({.bits = 8, .group = group, .is_float = true});
  for (const int bits : {8, 4})
    formats.push_back({.bits = bits,
                       .group = bits == 4 ? 32 : 128,
                       .scale = DType::kF16,
                       .has_zero_points = bits == 4,
                       .rounds_input = rounds_input,
                       .has_column_order = true});
  // Zero points times scales that take more than float32 has.
  formats.push_back({.bits = 4,
                     .group = 32,
                     .scale = DType::kF32,
                     .has_zero_points = true,
                     .rounds_input = rounds_input});
  return formats;
}

std::string name_of(const WeightFormat& format) {
  return std::to_string(format.bits) + (format.is_float ? " bits of floats" : " bits") +
         ", groups of " + std::to_string(format.group) +
         (format.has_zero_points ? ", zero points" : "") +
         (format.has_column_order ? ", order" : "");
}

// So many that calls have kMaxCallCols of them.
constexpr int kManyOutputs = 1184;

class CodesGemm : public testing::TestWithParam<NamedTable> {
 protected:
  void SetUp() override {
    if (!GetParam().exists) GTEST_SKIP() << "this machine lacks " << GetParam().name;
  }
};

TEST_P(CodesGemm, sums_of_integers_equal_the_definition) {
  ThreadPool pool(3, false);
  Gemm gemm(GetParam().make(), GemmOrder::kTile, pool);
  std::uint64_t seed = 1;
  for (const WeightFormat& format : all_formats(true))
    for (const auto& [rows, in, out] :
         {std::array{1, 33, 5}, std::array{3, 128, 64}, std::array{7, 700, 100},
          std::array{20, 2100, 70}, std::array{9, 600, kManyOutputs}}) {
      Problem p(format, rows, in, out, ++seed);
      const CpuLinear w = p.pack(pool, gemm);
      expect_equal(
          multiply(gemm, w, p.x.data(), rows), p.expected(),
          name_of(format) + ", " + std::to_string(rows) + " rows of " + std::to_string(in));
    }
}

TEST_P(CodesGemm, every_row_count_gives_a_row_the_same_bits) {
  ThreadPool pool(3, false);
  for (const GemmOrder order : {GemmOrder::kTile, GemmOrder::kPair}) {
    Gemm gemm(GetParam().make(), order, pool);
    for (const bool rounds_input : {true, false})
      for (const WeightFormat& format :
           {WeightFormat{.bits = 8, .rounds_input = rounds_input},
            WeightFormat{
                .bits = 4, .group = 32, .scale = DType::kBF16, .rounds_input = rounds_input},
            WeightFormat{.bits = 8, .rounds_input = rounds_input, .is_float = !rounds_input}}) {
        Problem p(format, 70, 1056, 80, 3);
        const CpuLinear w = p.pack(pool, gemm);
        const auto all = multiply(gemm, w, p.x.data(), p.rows);
        for (std::int64_t rows = 1; rows < p.rows; rows += rows < 20 ? 1 : 7) {
          const std::int64_t first = p.rows - rows;
          expect_equal(multiply(gemm, w, &p.x[at(first * p.in)], rows),
                       {all.begin() + first * p.out, all.end()}, std::to_string(rows) + " rows");
        }
      }
  }
}

TEST_P(CodesGemm, without_rounding_the_bits_are_those_of_the_widened_weights) {
  ThreadPool pool(3, false);
  std::uint64_t seed = 7;
  for (const GemmOrder order : {GemmOrder::kTile, GemmOrder::kPair}) {
    Gemm gemm(GetParam().make(), order, pool);
    for (const WeightFormat& format : all_formats(false))
      for (const auto& [rows, in, out] :
           {std::array{1, 33, 5}, std::array{2, 330, 33}, std::array{5, 256, 64},
            std::array{12, 96, 40}, std::array{18, 700, 100}, std::array{3, 224, kManyOutputs}}) {
        Problem p(format, rows, in, out, ++seed);
        const CpuLinear w = p.pack(pool, gemm);
        expect_as_widened(gemm, pool, p, w, name_of(format));
        const std::vector<float> wide = p.widened();
        std::vector<float> row(at(in));
        for (const std::int64_t n : {0, out - 1}) {
          w.gather_row(n, row.data());
          for (std::int64_t k = 0; k < in; ++k)
            ASSERT_EQ(row[at(format.has_column_order ? p.weights.column_order()[at(k)] : k)],
                      wide[at(n * in + k)]);
        }
      }
  }
}

TEST_P(CodesGemm, scales_may_be_as_small_as_numbers_are) {
  const FlushDenormals flush;
  ThreadPool pool(2, false);
  const float scales[] = {0x1p-126F, -0x1p-127F, 0x1p-133F, -0.0F, -0x1.02p-125F, 0x1.fep100F};
  for (const GemmOrder order : {GemmOrder::kTile, GemmOrder::kPair}) {
    Gemm gemm(GetParam().make(), order, pool);
    for (const int bits : {4, 8}) {
      Problem p({.bits = bits, .group = 32, .scale = DType::kBF16}, 5, 64, 36, 11);
      for (std::int64_t n = 0; n < p.out; ++n)
        for (const std::int64_t group : {n % 2, n < 24 ? n % 2 : 1 - n % 2})
          p.weights.set_scale(n, group, scales[at(n / 2) % std::size(scales)]);
      p.bias.clear();
      expect_as_widened(gemm, pool, p, p.pack(pool, gemm), "small scales");
    }
  }
}

TEST_P(CodesGemm, one_strange_scale_is_seen_beside_whatever_others) {
  ThreadPool pool(2, false);
  for (const GemmOrder order : {GemmOrder::kTile, GemmOrder::kPair}) {
    Gemm gemm(GetParam().make(), order, pool);
    for (const std::int64_t output : {3, 40, 64, 127}) {
      Problem p({.bits = 4, .group = 32, .scale = DType::kBF16}, 3, 128, kManyOutputs, 17);
      p.weights.set_scale(output, 2, 0.0F);
      expect_as_widened(gemm, pool, p, p.pack(pool, gemm), std::to_string(output));
    }
  }
}

TEST_P(CodesGemm, floats_may_share_a_scale) {
  ThreadPool pool(2, false);
  for (const GemmOrder order : {GemmOrder::kTile, GemmOrder::kPair}) {
    Gemm gemm(GetParam().make(), order, pool);
    for (const std::int64_t rows : {3, 20, 40}) {
      Problem p({.bits = 8, .group = 128, .is_float = true}, rows, 224, kManyOutputs, 19);
      for (std::int64_t n = 0; n < 102; ++n)
        for (std::int64_t group = 0; group < 2; ++group)
          p.weights.set_scale(n, group, 0.01F * static_cast<float>(group + n / 64 + 1));
      expect_as_widened(gemm, pool, p, p.pack(pool, gemm), std::to_string(rows));
    }
  }
}

TEST_P(CodesGemm, strange_inputs_stay_in_their_row_and_group) {
  ThreadPool pool(2, false);
  Gemm gemm(GetParam().make(), GemmOrder::kTile, pool);
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const std::int64_t group : {0, 32}) {
    const WeightFormat format{.bits = 8, .group = group, .rounds_input = true};
    Problem p(format, 6, 200, 40, 5);
    const auto row = [&](std::int64_t r) { return p.x.begin() + r * p.in; };
    std::fill(row(0), row(1), 0.0F);
    *(row(1) + 70) = std::numeric_limits<float>::quiet_NaN();
    *(row(2) + 71) = kInf;
    *(row(3) + 199) = -kInf;
    std::fill(row(4), row(5), 1e-40F);  // denormal
    std::fill(row(5), row(6), std::numeric_limits<float>::max());
    const CpuLinear w = p.pack(pool, gemm);
    const auto found = multiply(gemm, w, p.x.data(), p.rows);
    expect_equal(found, p.expected(), "strange");
    EXPECT_TRUE(std::isnan(found[at(p.out)]));
    EXPECT_FALSE(std::isnan(found[0]));
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, CodesGemm, testing::ValuesIn(kernel_tables()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace foretoken::dot_codes_rounded_test
