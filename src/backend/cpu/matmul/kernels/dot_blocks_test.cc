// Every product of weights of blocks that this machine can compute against loops that spell it out,
// byte for byte: what rounds its input, and what keeps it against the product of widened weights.
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/block_row.h"
#include "backend/cpu/matmul/gemm.h"
#include "backend/cpu/testing/kernel_tables.h"
#include "backend/quantize.h"
#include "backend/testing/coded_rows_test_kit.h"
#include "base/index.h"
#include "tensor/float16.h"

namespace foretoken::dot_blocks_test {
namespace {

std::vector<float> random_floats(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> out(at(count));
  for (float& value : out) value = normal(random);
  return out;
}

std::vector<float> multiply(Gemm& gemm, const CpuLinear& w, const std::vector<float>& x,
                            std::int64_t rows) {
  std::vector<float> y(at(rows * w.out_width()), -1.0F);
  gemm.expect_weights(w);
  gemm.run(w, x.data(), static_cast<int>(rows), y.data());
  return y;
}

// What stands beside the minima of a super: numbers of 16 bits with one scale.
float farthest_in(const std::vector<float>& values) {
  float farthest = 0;
  for (const float value : values) farthest = std::max(farthest, std::abs(value));
  return farthest;
}
float minima_scale(const std::vector<float>& values) { return farthest_in(values) / 32767.0F; }
float minima_sum(const std::vector<float>& values, const std::int8_t* multiples) {
  const float inverse = 32767.0F / farthest_in(values);
  std::int32_t sum = 0;
  for (std::size_t g = 0; g < values.size(); ++g)
    sum += multiples[g] * static_cast<std::int32_t>(std::nearbyint(values[g] * inverse));
  return static_cast<float>(sum);
}

// The contract of products that round their input.
std::vector<float> expected(const WeightFormat& format, const CodedRows& weights,
                            const std::vector<float>& x, const std::vector<float>& bias) {
  const FlushDenormals flush;
  const std::int64_t in = weights.width(), out = weights.rows();
  const std::int64_t rows = static_cast<std::int64_t>(x.size()) / in;
  std::vector<float> y(at(rows * out));
  OwnBlockRow row(format, in);
  const std::int64_t together = format.input_group();
  const BlockRow parts = row.view();
  std::vector<std::int8_t> input(at(together));
  for (std::int64_t n = 0; n < out; ++n) {
    weights.read_blocks(n, row.view());
    for (std::int64_t r = 0; r < rows; ++r) {
      float sum = 0;
      float of_super = 0;
      std::vector<float> minima_input;
      for (std::int64_t first = 0; first < in; first += together) {
        const float x_scale = round_input(&x[at(r * in + first)], together, input.data());
        std::int32_t products = 0, total = 0;
        for (std::int64_t k = 0; k < together; ++k) {
          const std::int64_t g = (first + k) / format.group;
          const int multiple = format.super > 0 ? parts.multiples[g] : 1;
          products += multiple * row.code(first + k) * input[at(k)];
          total += input[at(k)];
          if ((first + k + 1) % format.group != 0 || format.super == 0) continue;
          minima_input.push_back(x_scale * static_cast<float>(total));
          total = 0;
        }
        if (format.super == 0) {
          const std::int64_t g = first / together;
          sum = std::fma(static_cast<float>(products), x_scale * row.scale(g), sum);
          if (format.has_minima)
            sum = std::fma(static_cast<float>(total), x_scale * row.minimum(g), sum);
          continue;
        }
        of_super = std::fma(static_cast<float>(products), x_scale, of_super);
        if ((first + together) % format.super != 0) continue;
        const std::int64_t super = first / format.super;
        sum = std::fma(of_super, parts.scales[super], sum);
        if (format.has_minima)
          sum = std::fma(
              minima_sum(minima_input, &parts.min_multiples[super * format.super / format.group]),
              minima_scale(minima_input) * parts.minima[super], sum);
        of_super = 0;
        minima_input.clear();
      }
      y[at(r * out + n)] = sum + bias[at(n)];
    }
  }
  return y;
}

void expect_equal(const std::vector<float>& found, const std::vector<float>& wanted,
                  const std::string& what) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(found[i]), std::bit_cast<std::uint32_t>(wanted[i]))
        << what << ", output " << i << ": " << found[i] << " for " << wanted[i];
}

// Tiles multiply no blocks.
std::vector<NamedTable> tables_of_blocks() {
  std::vector<NamedTable> tables = kernel_tables();
  std::erase_if(tables, [](const NamedTable& table) { return table.name == "amx_model"; });
  return tables;
}

class BlocksGemm : public testing::TestWithParam<NamedTable> {
 protected:
  void SetUp() override {
    if (!GetParam().exists) GTEST_SKIP() << "this machine lacks " << GetParam().name;
  }
};

CpuLinear packed(const WeightFormat& format, const CodedRows& rows, const std::vector<float>& bias,
                 ThreadPool& pool, const Gemm& gemm) {
  const CodedRows* of = &rows;
  std::vector<float> values = bias;
  const Tensor view(values.data(), DType::kF32, {rows.rows()});
  return CpuLinear({.weights = {}, .biases = {&view, 1}, .format = format, .codes = {&of, 1}}, pool,
                   gemm.code_layout());
}

TEST_P(BlocksGemm, sums_of_integers_equal_the_definition) {
  ThreadPool pool(3, false);
  Gemm gemm(GetParam().make(), GemmOrder::kTile, pool);
  for (const BlockKind& kind : block_kinds()) {
    WeightFormat format = kind.format;
    format.rounds_input = true;
    for (const auto& [rows, in, out] :
         {std::array{1, 256, 5}, std::array{2, 512, 64}, std::array{3, 1280, 50},
          std::array{7, 2304, 100}, std::array{8, 512, 33}, std::array{13, 1280, 40},
          std::array{21, 768, 200}}) {
      const RandomBlocks weights(format, out, in);
      const auto x = random_floats(std::int64_t{rows} * in, 3), bias = random_floats(out, 4);
      const CpuLinear w = packed(format, weights, bias, pool, gemm);
      expect_equal(multiply(gemm, w, x, rows), expected(format, weights, x, bias),
                   kind.name + (", " + std::to_string(rows)) + " rows");
    }
  }
}

// What is not finite, and what only becomes so beside minima, makes NaN of its row and of no other.
TEST_P(BlocksGemm, strange_inputs_stay_in_their_row) {
  ThreadPool pool(2, false);
  Gemm gemm(GetParam().make(), GemmOrder::kTile, pool);
  constexpr int kIn = 512, kOut = 40;
  for (const BlockKind& kind : block_kinds()) {
    WeightFormat format = kind.format;
    format.rounds_input = true;
    const RandomBlocks weights(format, kOut, kIn);
    const auto plain = random_floats(3 * kIn, 3), bias = random_floats(kOut, 4);
    const CpuLinear w = packed(format, weights, bias, pool, gemm);
    const auto usual = multiply(gemm, w, plain, 3);
    for (const float strange : {std::numeric_limits<float>::quiet_NaN(),
                                -std::numeric_limits<float>::infinity(), 3e38F}) {
      auto x = plain;
      for (int k = 256; k < (strange == 3e38F ? 288 : 257); ++k) x[at(kIn + k)] = strange;
      const auto found = multiply(gemm, w, x, 3);
      for (int n = 0; n < kOut; ++n) {
        EXPECT_EQ(found[at(n)], usual[at(n)]) << kind.name;
        EXPECT_EQ(found[at(2 * kOut + n)], usual[at(2 * kOut + n)]) << kind.name;
        const bool has_sum = std::isfinite(strange) && !(format.super > 0 && format.has_minima);
        EXPECT_TRUE(has_sum || std::isnan(found[at(kOut + n)])) << kind.name << ", " << strange;
      }
    }
  }
}

TEST_P(BlocksGemm, rows_of_whole_groups_suffice_where_there_is_no_super) {
  ThreadPool pool(2, false);
  Gemm gemm(GetParam().make(), GemmOrder::kTile, pool);
  for (const BlockKind& kind : block_kinds()) {
    if (kind.format.super > 0) continue;
    WeightFormat format = kind.format;
    format.rounds_input = true;
    const RandomBlocks weights(format, 40, 1056);
    const auto x = random_floats(5 * 1056, 3), bias = random_floats(40, 4);
    const CpuLinear w = packed(format, weights, bias, pool, gemm);
    expect_equal(multiply(gemm, w, x, 5), expected(format, weights, x, bias), kind.name);
  }
}

TEST_P(BlocksGemm, without_rounding_the_bits_are_those_of_the_widened_weights) {
  ThreadPool pool(3, false);
  for (const GemmOrder order : {GemmOrder::kTile, GemmOrder::kPair}) {
    Gemm gemm(GetParam().make(), order, pool);
    for (const BlockKind& kind : block_kinds())
      for (const auto& [rows, in, out] : {std::array{1, 256, 5}, std::array{9, 768, 100}}) {
        const RandomBlocks weights(kind.format, out, in);
        const auto x = random_floats(std::int64_t{rows} * in, 3);
        std::vector<float> bias = random_floats(out, 4), wide(at(std::int64_t{out} * in));
        const CpuLinear w = packed(kind.format, weights, bias, pool, gemm);
        OwnBlockRow row(kind.format, in);
        for (std::int64_t n = 0; n < out; ++n) {
          weights.read_blocks(n, row.view());
          row.widen(&wide[at(n * in)]);
          std::vector<float> gathered(at(in));
          w.gather_row(n, gathered.data());
          for (std::int64_t k = 0; k < in; ++k)
            ASSERT_EQ(gathered[at(k)], wide[at(n * in + k)]) << kind.name;
        }
        const Tensor matrix(wide.data(), DType::kF32, {out, in});
        const Tensor bias_view(bias.data(), DType::kF32, {out});
        const CpuLinear plain({.weights = {&matrix, 1}, .biases = {&bias_view, 1}}, pool);
        expect_equal(multiply(gemm, w, x, rows), multiply(gemm, plain, x, rows), kind.name);
      }
  }
}

TEST(Blocks, take_no_more_than_a_twentieth_more_than_their_files) {
  ThreadPool pool(2, false);
  const Gemm gemm(scalar_kernels(), GemmOrder::kTile, pool);
  // Bits. Files have 4.25 of MXFP4, because its scales are bytes; here they are float16.
  const double stored[] = {5, 5.5, 6, 2.625, 3.4375, 4.5, 5.5, 6.5625, 4.5, 4.25, 4.5};
  ASSERT_EQ(std::size(stored), block_kinds().size());
  const std::int64_t in = 1024, out = 512;
  for (std::size_t i = 0; i < block_kinds().size(); ++i) {
    const RandomBlocks weights(block_kinds()[i].format, out, in);
    const CodedRows* of = &weights;
    const CpuLinear w(
        {.weights = {}, .biases = {}, .format = block_kinds()[i].format, .codes = {&of, 1}}, pool,
        gemm.code_layout());
    EXPECT_LE(static_cast<double>(w.bytes()) * 8 / static_cast<double>(in * out), stored[i] * 1.05)
        << block_kinds()[i].name;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, BlocksGemm, testing::ValuesIn(tables_of_blocks()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace foretoken::dot_blocks_test
