#include "backend/cpu/matmul/packed_linear.h"

#include <algorithm>
#include <bit>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backend/cpu/matmul/convert.h"
#include "backend/ops/load_ops.h"
#include "backend/testing/reversed_rows_test_kit.h"
#include "base/index.h"
#include "base/word_sum.h"
#include "tensor/float16.h"

namespace foretoken::packed_linear_test {
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

using Images = std::vector<std::vector<std::byte>>;
Images images_of(const CpuLinear& w) {
  Images images;
  for (const auto image : w.images()) images.emplace_back(image.begin(), image.end());
  return images;
}

// Matrices of every way to keep them, larger than a piece.
struct Kept {
  DType dtype;
  WeightFormat format;
  std::uint64_t sum;  // of the images of layout_matrix()
  Layout layout = Layout::kDots;
};
const std::vector<Kept> kKept{
    {DType::kBF16, {}, 0xb718a0da7f72124fULL},
    {DType::kF16, {}, 0x5d33f14c626d6175ULL},
    {DType::kF32, {}, 0x4d659a3d89d77b32ULL},
    {DType::kBF16, {.bits = 8, .rounds_input = true}, 0x529f56261c7caac9ULL},
    {DType::kBF16, {.bits = 8, .scale = DType::kF16}, 0x4a7bfa39c661d73ULL},
    {DType::kBF16, {.bits = 4, .group = 32, .scale = DType::kBF16}, 0xb190a9bd93f6db5dULL},
    {DType::kBF16,
     {.bits = 4, .group = 32, .scale = DType::kBF16},
     0x8eb79730cbcc9787ULL,
     Layout::kTiles},
    {DType::kBF16, {.bits = 8, .scale = DType::kF16}, 0x7d58aa8668257a1fULL, Layout::kTiles},
    {DType::kBF16,
     {.bits = 4, .group = 64, .scale = DType::kBF16, .rounds_input = true},
     0x9b60912f2d1c209fULL},
    {DType::kBF16, {.bits = 4, .group = 128, .searches_scale = true}, 0xc0d45511a0780691ULL},
};

CpuLinear packed_of(std::int64_t rows, std::int64_t in, const Kept& kept, ThreadPool& pool) {
  std::vector<float> values = numbers(2 * rows * in, -3.0F), bias = numbers(rows, 1.0F);
  const std::vector<Tensor> parts{Tensor(values.data(), DType::kF32, {rows, in}),
                                  Tensor(&values[at(rows * in)], DType::kF32, {rows, in})};
  const std::vector<Tensor> biases{Tensor(), Tensor(bias.data(), DType::kF32, {rows})};
  return {{.weights = parts, .biases = biases, .dtype = kept.dtype, .format = kept.format},
          pool,
          kept.layout};
}

// Codes as checkpoints have them.
class CountedRows final : public CodedRows {
 public:
  std::int64_t rows() const override { return 80; }
  std::int64_t width() const override { return 330; }
  void read(std::int64_t row, std::uint8_t* codes, float* scales, std::uint8_t*) const override {
    for (std::int64_t k = 0; k < width(); ++k)
      codes[k] = static_cast<std::uint8_t>((row * 7 + k) % 127);
    *scales = 1.0F + static_cast<float>(row);
  }
};

TEST(PackedImages, make_the_same_matrix_again) {
  ThreadPool pool(3, false);
  for (const Kept& kept : kKept) {
    const CpuLinear first = packed_of(192, 2100, kept, pool);
    const auto images = first.images();
    bool is_whole = false;
    const LinearShape shape{.rows = {192, 192},
                            .in_width = 2100,
                            .has_bias = true,
                            .dtype = kept.dtype,
                            .format = kept.format};
    const FillImage fill = [&](std::size_t image, std::size_t offset, std::span<std::byte> to) {
      EXPECT_EQ(offset % LoadOps::kImagePiece, 0U);
      EXPECT_TRUE(to.size() == LoadOps::kImagePiece || offset + to.size() == images[image].size());
      std::ranges::copy(images[image].subspan(offset, to.size()), to.begin());
      return true;
    };
    const CpuLinear again(shape, fill, pool, kept.layout, is_whole);
    EXPECT_TRUE(is_whole);
    EXPECT_EQ(images_of(again), images_of(first));
    EXPECT_EQ(again.bytes(), first.bytes());
    EXPECT_EQ(again.format_name(), first.format_name());
    EXPECT_EQ(again.block_stride(), first.block_stride());
    std::vector<float> a(2100), b(2100);
    for (const std::int64_t row : {0, 191, 192, 383}) {
      first.gather_row(row, a.data());
      again.gather_row(row, b.data());
      EXPECT_EQ(a, b);
    }
  }
}

TEST(PackedImages, hold_the_order_of_columns_and_are_not_whole_without_one_of_them) {
  ThreadPool pool(1, false);
  const WeightFormat format{.bits = 4, .group = 32, .has_column_order = true};
  std::vector<float> values(40 * 96);  // each is its code less 8
  for (std::int64_t row = 0; row < 40; ++row)
    for (std::int64_t k = 0; k < 96; ++k)
      values[at(row * 96 + k)] = static_cast<float>((row + k) % 16 - 8);
  const ReversedRows rows(Tensor(values.data(), DType::kF32, {40, 96}), format);
  const CodedRows* const codes = &rows;
  const CpuLinear first({.weights = {}, .biases = {}, .format = format, .codes = {&codes, 1}},
                        pool);
  std::vector<float> a(96), b(96);
  first.gather_row(1, a.data());
  for (std::int64_t k = 0; k < 96; ++k)
    EXPECT_EQ(a[at(95 - k)], static_cast<float>((1 + k) % 16 - 8));
  auto images = images_of(first);
  ASSERT_EQ(images.size(), 3U);
  const auto again = [&](bool& is_whole) {
    const FillImage fill = [&](std::size_t image, std::size_t offset, std::span<std::byte> to) {
      std::copy_n(images[image].begin() + static_cast<std::ptrdiff_t>(offset), to.size(),
                  to.begin());
      return true;
    };
    return CpuLinear({.rows = {40}, .in_width = 96, .format = format}, fill, pool, Layout::kDots,
                     is_whole);
  };
  bool is_whole = false;
  again(is_whole).gather_row(1, b.data());
  EXPECT_TRUE(is_whole);
  EXPECT_EQ(a, b);
  for (const std::int32_t column : {94, 96, -1}) {
    std::memcpy(images[2].data(), &column, sizeof column);
    again(is_whole);
    EXPECT_FALSE(is_whole) << column;
  }
}

TEST(PackedImages, say_where_a_piece_could_not_be_had) {
  ThreadPool pool(2, false);
  const LinearShape shape{.rows = {64}, .in_width = 40000, .dtype = DType::kBF16};
  for (const std::size_t missing : {std::size_t{0}, std::size_t{2} << 20}) {
    bool is_whole = true;
    const CpuLinear w(
        shape, [&](std::size_t, std::size_t offset, auto) { return offset != missing; }, pool,
        Layout::kDots, is_whole);
    EXPECT_FALSE(is_whole);
  }
}

// Files hold packed weights. A change of what is packed, of its place or of its rounding needs
// another layout_name() and new sums here.
TEST(PackedImages, are_what_they_were_when_the_layout_got_its_name) {
  EXPECT_STREQ(CpuLinear::layout_name(Layout::kDots), "cpu 2");
  EXPECT_STREQ(CpuLinear::layout_name(Layout::kTiles), "cpu 3 tiles");
  ThreadPool pool(1, false);
  for (const Kept& kept : kKept) {
    std::uint64_t sum = 0;
    const CpuLinear w = packed_of(40, 330, kept, pool);
    for (const auto image : w.images()) sum = 31 * sum + word_sum(image);
    EXPECT_EQ(sum, kept.sum) << w.format_name() << fmt::format(" {:#x}", sum);
  }
  const CountedRows counted;
  const CodedRows* const codes = &counted;
  for (const auto& [layout, kept] : {std::pair{Layout::kDots, 0xda46540a9887e62dULL},
                                     std::pair{Layout::kTiles, 0xbc21b35c2ae2ee8bULL}}) {
    const CpuLinear w({.weights = {},
                       .biases = {},
                       .format = {.bits = 8, .is_float = true},
                       .codes = {&codes, 1}},
                      pool, layout);
    EXPECT_EQ(word_sum(w.images()[0]), kept) << fmt::format("{:#x}", word_sum(w.images()[0]));
  }
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
}  // namespace foretoken::packed_linear_test
