// Products of many rows on tile registers in software: wide items, whole and in tiles, give the
// bits of the scalar kernels.
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/cpu/matmul/gemm.h"
#include "backend/cpu/testing/amx_model.h"
#include "base/index.h"

namespace foretoken::gemm_wide_test {
namespace {

std::vector<float> values(std::int64_t count, double seed) {
  std::vector<float> out(at(count));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<float>(std::sin(static_cast<double>(i) * 0.73 + seed));
  return out;
}

void expect_same(const std::vector<float>& found, const std::vector<float>& expected) {
  EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)), 0);
}

struct Kind {
  std::string name;
  WeightFormat format;
};

// The same weights for kernels on tiles and for scalar ones.
struct Weights {
  CpuLinear tiles, scalar;
};

class WideGemm : public testing::TestWithParam<Kind> {
 protected:
  Weights pack(std::int64_t in, const std::vector<std::int64_t>& outs, bool has_bias) {
    std::vector<std::vector<float>> data;
    std::vector<Tensor> weights, biases;
    data.reserve(2 * outs.size());
    for (const std::int64_t out : outs) {
      data.push_back(values(out * in, static_cast<double>(data.size())));
      weights.push_back(Tensor(data.back().data(), DType::kF32, {out, in}));
      data.push_back(values(out, 0.5));
      biases.push_back(Tensor(data.back().data(), DType::kF32, {out}));
    }
    LinearParts parts{
        .weights = weights, .biases = {}, .dtype = DType::kBF16, .format = GetParam().format};
    if (has_bias) parts.biases = biases;
    Weights w{{parts, pool_, tiles_.code_layout()}, {parts, pool_}};
    tiles_.expect_weights(w.tiles);
    scalar_.expect_weights(w.scalar);
    return w;
  }

  void expect_same_product(const Weights& w, const std::vector<float>& x, int rows) {
    std::vector<float> found(at(rows * w.tiles.out_width())), expected(found.size());
    tiles_.run(w.tiles, x.data(), rows, found.data());
    scalar_.run(w.scalar, x.data(), rows, expected.data());
    expect_same(found, expected);
  }

  ThreadPool pool_{2, false};
  Gemm tiles_{amx_model_kernels(), GemmOrder::kTile, pool_};
  Gemm scalar_{scalar_kernels(), GemmOrder::kTile, pool_};
};

struct Shape {
  int rows;
  std::int64_t in, out;
};

// Rows in one item and in several, a K of one step and of several with a rest, a last item that is
// not full, and a width that leaves the kernel to its narrow calls.
TEST_P(WideGemm, products) {
  for (const auto& [rows, in, out] : std::vector<Shape>{
           {33, 64, 512}, {80, 1184, 768}, {545, 96, 1024}, {64, 2080, 500}, {49, 32, 96}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(in) + " x " + std::to_string(out));
    for (const bool has_bias : {false, true}) {
      const Weights w = pack(in, {out}, has_bias);
      expect_same_product(w, values(rows * in, 3), rows);
    }
  }
}

TEST_P(WideGemm, a_product_of_two_stacked_matrices) {
  const Weights w = pack(96, {512, 512}, true);
  expect_same_product(w, values(70 * 96, 1), 70);
}

TEST_P(WideGemm, tiles_come_each_once_with_their_values) {
  constexpr int kRows = 145, kHead = 64;
  constexpr std::int64_t kIn = 160, kOut = 1024;
  const Weights w = pack(kIn, {kOut}, true);
  const auto x = values(kRows * kIn, 2);
  std::vector<float> found(std::size_t{kRows} * kOut), expected(found.size());
  std::vector<int> seen(found.size());
  const auto use = [&](const Gemm::Tile& tile, int) {
    EXPECT_EQ(tile.cols % kHead, 0);
    for (int r = 0; r < tile.rows; ++r) {
      const std::int64_t first = (tile.first_row + r) * kOut + tile.first_col;
      for (int col = 0; col < tile.cols; ++col) ++seen[at(first + col)];
      std::memcpy(found.data() + first, tile.y + std::int64_t{r} * tile.cols,
                  at(tile.cols) * sizeof(float));
    }
  };
  ASSERT_TRUE(tiles_.run_tiles(w.tiles, x.data(), kRows, kHead, 1, use));
  scalar_.run(w.scalar, x.data(), kRows, expected.data());
  expect_same(found, expected);
  for (const int times : seen) ASSERT_EQ(times, 1);
}

// Few rows go through narrow calls, many through wide ones; either way the activated values are
// written as the second product reads them.
TEST_P(WideGemm, gated) {
  constexpr std::int64_t kIn = 96, kMiddle = 512, kOut = 640;
  for (const int rows : {1, 7, 16, 40, 130}) {
    SCOPED_TRACE(rows);
    const Weights gate_up = pack(kIn, {kMiddle, kMiddle}, true);
    const Weights down = pack(kMiddle, {kOut}, false);
    const auto x = values(rows * kIn, 4);
    std::vector<float> found(at(rows * kOut)), expected(found.size());
    ASSERT_TRUE(tiles_.run_gated({gate_up.tiles, down.tiles, Activation::kSilu}, x.data(), rows,
                                 found.data()));
    ASSERT_TRUE(scalar_.run_gated({gate_up.scalar, down.scalar, Activation::kSilu}, x.data(), rows,
                                  expected.data()));
    expect_same(found, expected);
  }
}

// As attention hands over heads: row by row, in any order.
TEST_P(WideGemm, input_in_pieces) {
  constexpr int kRows = 53, kPiece = 64;
  constexpr std::int64_t kIn = 256, kOut = 512;
  const Weights w = pack(kIn, {kOut}, false);
  const auto x = values(kRows * kIn, 5);
  const auto input = tiles_.open_input(w.tiles, kRows, kPiece);
  ASSERT_TRUE(input);
  for (int col = kIn - kPiece; col >= 0; col -= kPiece)
    for (int row = kRows - 1; row >= 0; --row)
      input->write(row, col, kPiece, x.data() + row * kIn + col);
  std::vector<float> found(std::size_t{kRows} * kOut), expected(found.size());
  tiles_.run(w.tiles, *input, kRows, found.data());
  scalar_.run(w.scalar, x.data(), kRows, expected.data());
  expect_same(found, expected);
}

// Groups that are part of a step of K, that cross its borders, and one for all of K.
INSTANTIATE_TEST_SUITE_P(
    Weights, WideGemm,
    testing::Values(Kind{"bf16", {}}, Kind{"w8a8", {.bits = 8, .rounds_input = true}},
                    Kind{"w4a8",
                         {.bits = 4, .group = 32, .scale = DType::kBF16, .rounds_input = true}},
                    Kind{"w4a8_groups_of_96",
                         {.bits = 4, .group = 96, .scale = DType::kF32, .rounds_input = true}},
                    Kind{"w4a8_groups_of_128",
                         {.bits = 4, .group = 128, .scale = DType::kF16, .rounds_input = true}},
                    Kind{"w8a16", {.bits = 8}},
                    Kind{"int4", {.bits = 4, .group = 32, .scale = DType::kBF16}},
                    Kind{"int4_groups_of_96", {.bits = 4, .group = 96, .scale = DType::kF32}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace foretoken::gemm_wide_test
