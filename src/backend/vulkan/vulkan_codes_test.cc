// Products with weights of codes on a device of Vulkan against the CPU's tile order and against the
// reference. The device is llvmpipe (tools/vulkan_run.sh) or FORETOKEN_TEST_DEVICE; skipped by name
// where there is none.

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/testing/coded_rows_test_kit.h"
#include "backend/testing/gpu_fixture_test_kit.h"
#include "backend/testing/ops_test_kit.h"

namespace foretoken::vulkan_codes_test {
namespace {

struct Kind {
  std::string name;
  WeightFormat format;
};

// Every format that weights of a checkpoint or of --quantization have.
std::vector<Kind> all_kinds() {
  std::vector<Kind> kinds;
  for (const BlockKind& kind : block_kinds()) kinds.push_back({kind.name, kind.format});
  kinds.push_back({"Q8_0", {.bits = 8, .group = 32, .scale = DType::kF16}});
  kinds.push_back({"Q4_0", {.bits = 4, .group = 32, .scale = DType::kF16}});
  kinds.push_back({"int4", {.bits = 4, .group = 32, .scale = DType::kBF16}});
  kinds.push_back({"int4_g64", {.bits = 4, .group = 64, .scale = DType::kBF16}});
  kinds.push_back({"int8", {.bits = 8}});
  kinds.push_back(
      {"awq", {.bits = 4, .group = 128, .scale = DType::kF16, .has_zero_points = true}});
  kinds.push_back({"gptq_of_an_order",
                   {.bits = 4,
                    .group = 32,
                    .scale = DType::kF16,
                    .has_zero_points = true,
                    .has_column_order = true}});
  kinds.push_back({"fp8", {.bits = 8, .group = 128, .is_float = true}});
  return kinds;
}

struct Case {
  Kind kind;
  std::string name;
};
void PrintTo(const Case& of, std::ostream* out) { *out << of.name; }
std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (Kind kind : all_kinds())
    for (const bool rounds : {false, true}) {
      if (rounds && kind.format.is_float) continue;
      kind.format.rounds_input = rounds;
      cases.push_back({kind, kind.name + (rounds ? "_a8" : "_a16")});
    }
  return cases;
}

// And the reference.
class VulkanCodesTest : public GpuFixture, public testing::WithParamInterface<Case> {
 protected:
  static void SetUpTestSuite() {
    GpuFixture::SetUpTestSuite();
    reference_ = make_backend({.device = "reference"}, *pool_);
  }
  static void TearDownTestSuite() {
    reference_.reset();
    GpuFixture::TearDownTestSuite();
  }

  inline static std::unique_ptr<Ops> reference_;
};

std::unique_ptr<CodedRows> made_rows(const WeightFormat& format, std::int64_t rows,
                                     std::int64_t width) {
  if (format.is_blocked()) return std::make_unique<RandomBlocks>(format, rows, width);
  return std::make_unique<RandomRows>(format, rows, width, 7);
}

void note(Ops& ops, const Tensor& x, Rows& to) {
  for (auto& row : read_all_rows(ops, x)) to.push_back(std::move(row));
}

// Products of each number of rows, of inputs that are random, of values far apart, and of zeros; and
// rows of the matrix.
Rows results(Ops& ops, const Kind& kind, std::int64_t width, std::int64_t out,
             const std::vector<std::int64_t>& counts) {
  // Matrices that have an order share it: one alone.
  const std::int64_t other = kind.format.has_column_order ? 0 : out / 2;
  const auto first = made_rows(kind.format, out - other, width);
  const auto second = made_rows(kind.format, other, width);
  std::vector<const CodedRows*> codes{first.get()};
  std::vector<float> bias(at(out - other), 0.37F);
  std::vector<Tensor> biases{Tensor(bias.data(), DType::kF32, {out - other})};
  if (other > 0) {
    codes.push_back(second.get());
    biases.emplace_back();
  }
  const auto w = ops.pack({.weights = {}, .biases = biases, .format = kind.format, .codes = codes});
  EXPECT_EQ(w->out_width(), out);
  Rows all;
  for (const std::int64_t rows : counts) {
    begin_step(ops);
    std::vector<float> values;
    for (std::int64_t i = 0; i < rows * width; ++i) {
      const float far = i / 64 % 5 == 0 ? 300.0F : i / 64 % 5 == 1 ? 1e-3F : 1.0F;
      values.push_back(i / 32 % 7 == 6 ? 0.0F : far * value_of(width, rows, i));
    }
    const Tensor x = put_values(ops, values, {rows, width}), y = ops.temp(DType::kF32, {rows, out});
    ops.linear(*w, x, y);
    note(ops, y, all);
  }
  begin_step(ops);
  const std::vector<Token> tokens{static_cast<Token>(out - 1), 0, 2, 2};
  const Tensor rows = ops.temp(DType::kF32, {4, width});
  ops.embed(*w, tokens, rows);
  note(ops, rows, all);
  return all;
}

// Widths of blocks whole and cut, more than the lanes of a workgroup take at a time.
std::vector<std::int64_t> widths_of(const WeightFormat& format) {
  if (format.super > 0) return {256, 1280};
  if (format.is_blocked()) return {32, 1088};
  return {33, 1100};
}

// Each number of rows up to 8 has a form of the shader, which a software device compiles for a
// second: all of them are tried with some kinds.
std::vector<std::int64_t> counts_of(const Kind& kind) {
  if (kind.name == "Q4_0") return {1, 2, 3};
  if (kind.name == "Q4_K" || kind.name == "Q6_K") return {2, 9};
  return {2};
}

TEST_P(VulkanCodesTest, has_the_bits_of_the_cpu) {
  const Kind& kind = GetParam().kind;
  for (const std::int64_t width : widths_of(kind.format))
    for (const std::int64_t out : {5, 24})
      expect_same_bytes(results(*gpu_, kind, width, out, counts_of(kind)),
                        results(*cpu_, kind, width, out, counts_of(kind)),
                        std::to_string(width) + " x " + std::to_string(out));
}

TEST_P(VulkanCodesTest, is_near_the_reference) {
  const Kind& kind = GetParam().kind;
  const std::int64_t width = kind.format.super > 0 ? 256 : 96;
  const Rows expected = results(*reference_, kind, width, 12, {2});
  const Rows found = results(*gpu_, kind, width, 12, {2});
  float most = 0;
  for (const float value : expected[0]) most = std::max(most, std::abs(value));
  ASSERT_GT(most, 0);
  expect_near({found[0]}, {expected[0]}, 0.01 * most, GetParam().name);
}

TEST_P(VulkanCodesTest, takes_fewer_bytes_than_bf16) {
  const Kind& kind = GetParam().kind;
  const auto rows = made_rows(kind.format, 64, 1024);
  const CodedRows* of = rows.get();
  const auto w =
      gpu_->pack({.weights = {}, .biases = {}, .format = kind.format, .codes = {&of, 1}});
  const double bits = 8.0 * static_cast<double>(w->bytes()) / (64 * 1024);
  EXPECT_LE(bits, kind.format.bits + 1.5);
}

INSTANTIATE_TEST_SUITE_P(Kinds, VulkanCodesTest, testing::ValuesIn(all_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace foretoken::vulkan_codes_test
