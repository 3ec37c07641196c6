// Products by matrix units (--gemm-order mma): a row has the same bytes alone and in any batch, and is
// near to tile order; what the audit at start finds. The device is llvmpipe (tools/vulkan_run.sh) or
// FORETOKEN_TEST_DEVICE; skipped by name where there is none, or where it has no matrix units.

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/testing/coded_rows_test_kit.h"
#include "backend/testing/gpu_fixture_test_kit.h"
#include "backend/testing/ops_test_kit.h"
#include "backend/vulkan/arithmetic.h"
#include "backend/vulkan/units_audit.h"
#include "base/error.h"

namespace foretoken::vulkan_units_test {
namespace {

class VulkanUnitsTest : public GpuFixture {
 protected:
  static void SetUpTestSuite() {
    GpuFixture::SetUpTestSuite();
    if (why_not_.empty())
      units_ = make_backend({.device = test_device(), .gemm_order = "mma"}, *pool_);
  }
  static void TearDownTestSuite() {
    units_.reset();
    GpuFixture::TearDownTestSuite();
  }
  void SetUp() override {
    GpuFixture::SetUp();
    if (IsSkipped()) return;
    if (units_->description().find("mma order") != std::string::npos) return;
    const VulkanContext context({.device = test_device(), .wants_matrix_units = true});
    ASSERT_FALSE(context.gpu.units().any()) << "the device has some, and they are not used";
    GTEST_SKIP() << "no matrix units: " << units_->description();
  }

  struct Matrix {
    std::int64_t width, columns;
    DType dtype = DType::kF16;
    bool has_bias = false;
  };
  static std::unique_ptr<PackedLinear> packed(Ops& ops, const Matrix& of) {
    std::vector<float> values = some_values(7, of.width * of.columns);
    std::vector<float> offsets = some_values(8, of.columns);
    const Tensor weights(values.data(), DType::kF32, {of.columns, of.width});
    const Tensor bias(offsets.data(), DType::kF32, {of.columns});
    LinearParts parts{.weights = {&weights, 1}, .biases = {}, .dtype = of.dtype};
    if (of.has_bias) parts.biases = {&bias, 1};
    return ops.pack(parts);
  }
  // Rows [first, first + rows) of an input whose rows differ in size.
  static Rows product(Ops& ops, const PackedLinear& w, std::int64_t first, std::int64_t rows) {
    begin_step(ops);
    const std::int64_t width = w.in_width();
    std::vector<float> x = some_values(9, (first + rows) * width);
    x.erase(x.begin(), x.begin() + first * width);
    for (std::int64_t i = 0; i < rows * width; ++i)
      x[at(i)] *= std::ldexp(1.0F, static_cast<int>((first + i / width) % 5) * 12 - 24);
    const Tensor in = put_values(ops, std::move(x), {rows, width});
    const Tensor out = ops.temp(DType::kF32, {rows, w.out_width()});
    ops.linear(w, in, out);
    return read_all_rows(ops, out);
  }

  inline static std::unique_ptr<Ops> units_;
};

TEST_F(VulkanUnitsTest, a_row_has_the_same_bytes_alone_and_beside_others) {
  for (const Matrix& of : {Matrix{32, 8},
                           {40, 70},
                           {33, 64, DType::kF16, true},
                           {1000, 130},
                           {129, 257, DType::kF16, true}}) {
    const auto w = packed(*units_, of);
    const std::string name = std::to_string(of.width) + " x " + std::to_string(of.columns);
    const Rows all = product(*units_, *w, 0, 45);
    for (const std::int64_t rows : {1, 2, 7, 8, 9, 16, 17, 33})
      for (std::int64_t first = 0; first + rows <= 45; first += rows)
        expect_same_bytes(
            product(*units_, *w, first, rows),
            Rows(all.begin() + first, all.begin() + first + rows),
            name + ", " + std::to_string(rows) + " rows from " + std::to_string(first));
  }
}

// The input is rounded to fp16; rows that fp16 would not hold are, too.
TEST_F(VulkanUnitsTest, products_are_near_to_those_of_tile_order) {
  for (const Matrix& of : {Matrix{40, 70}, {1000, 130, DType::kF16, true}}) {
    const auto w = packed(*units_, of), expected = packed(*cpu_, of);
    const Rows a = product(*units_, *w, 0, 11), b = product(*cpu_, *expected, 0, 11);
    bool is_other = false;
    for (std::size_t row = 0; row < a.size(); ++row) {
      const double most = std::ldexp(4.0, static_cast<int>(row % 5) * 12 - 24);  // of a term
      for (std::size_t i = 0; i < a[row].size(); ++i) {
        ASSERT_NEAR(a[row][i], b[row][i], 0x1p-11 * most * std::sqrt(of.width) + 1e-6) << row;
        is_other |= a[row][i] != b[row][i];
      }
    }
    EXPECT_TRUE(is_other) << "they are another order's";
  }
}

// Weights that the units do not take keep tile order.
TEST_F(VulkanUnitsTest, other_weights_have_the_bits_of_the_cpu) {
  const auto context = std::make_shared<VulkanContext>(
      VulkanOptions{.device = test_device(), .wants_matrix_units = true});
  for (const DType dtype : {DType::kBF16, DType::kF32}) {
    if (dtype == DType::kBF16 && context->gpu.units().bf16.is_there()) continue;
    const Matrix of{100, 33, dtype, true};
    expect_same_bytes(product(*units_, *packed(*units_, of), 0, 9),
                      product(*cpu_, *packed(*cpu_, of), 0, 9), std::string(dtype_name(dtype)));
  }
}

// Codes with rounded input: few rows go by plain integers, more by matrix units, with the same bits.
TEST_F(VulkanUnitsTest, codes_with_rounded_input_have_the_bits_of_the_cpu) {
  constexpr std::int64_t kWidth = 512, kColumns = 70;
  std::vector<WeightFormat> formats{
      {.bits = 8},
      {.bits = 8, .group = 64},
      {.bits = 4, .group = 32, .scale = DType::kBF16},
      {.bits = 4, .group = 128, .scale = DType::kF16, .has_zero_points = true},
      {.bits = 4,
       .group = 32,
       .scale = DType::kF16,
       .has_zero_points = true,
       .has_column_order = true}};
  for (const BlockKind& kind : block_kinds()) formats.push_back(kind.format);
  std::vector<float> offsets = some_values(8, kColumns);
  const Tensor bias(offsets.data(), DType::kF32, {kColumns});
  for (std::size_t f = 0; f < formats.size(); ++f) {
    formats[f].rounds_input = true;
    const RandomBlocks blocks(formats[f], kColumns, kWidth);
    const RandomRows plain(formats[f], kColumns, kWidth, 7);
    const CodedRows* rows = &plain;
    if (formats[f].is_blocked()) rows = &blocks;
    const LinearParts parts{
        .weights = {}, .biases = {&bias, 1}, .format = formats[f], .codes = {&rows, 1}};
    const auto found = units_->pack(parts), expected = cpu_->pack(parts);
    for (const std::int64_t many : {1, 9, 45})
      expect_same_bytes(product(*units_, *found, 0, many), product(*cpu_, *expected, 0, many),
                        "format " + std::to_string(f) + ", " + std::to_string(many) + " rows");
  }
}

// What a driver might do wrong: put many rows elsewhere than one, or take other numbers for all.
enum class Wrong { kNothing, kManyRows, kAllSums };
PFN_vkCmdPushConstants push_constants = nullptr;
Wrong wrong = Wrong::kNothing;
void VKAPI_PTR push_wrong(VkCommandBuffer to, VkPipelineLayout layout, VkShaderStageFlags stages,
                          std::uint32_t offset, std::uint32_t bytes, const void* values) {
  RoundedUnitsCall of_codes;
  if (bytes == sizeof of_codes && wrong == Wrong::kAllSums) {
    std::memcpy(static_cast<void*>(&of_codes), values, sizeof of_codes);
    of_codes.x_scales += sizeof(float);
    return push_constants(to, layout, stages, offset, bytes, &of_codes);
  }
  if (bytes != sizeof(LinearUnitsCall))
    return push_constants(to, layout, stages, offset, bytes, values);
  LinearUnitsCall call;
  std::memcpy(static_cast<void*>(&call), values, sizeof call);
  if (wrong == Wrong::kManyRows && call.rows >= 20) call.y += call.columns * sizeof(float) / 2;
  if (wrong == Wrong::kAllSums) call.w += 64 * sizeof(std::uint32_t);  // those of other k
  push_constants(to, layout, stages, offset, bytes, &call);
}

TEST_F(VulkanUnitsTest, units_that_are_wrong_are_not_used) {
  const auto passed = [&](Wrong what) {
    wrong = what;
    VulkanOptions options{.device = test_device(), .wants_matrix_units = true};
    options.edit = [](VulkanApi& api) {
      push_constants = api.vkCmdPushConstants;
      api.vkCmdPushConstants = push_wrong;
    };
    const auto context = std::make_shared<VulkanContext>(options);
    probe_arithmetic(*context);
    return audited_units(context, *pool_).str();
  };
  const std::string all = passed(Wrong::kNothing);
  EXPECT_NE(all.find("fp16"), std::string::npos) << all;
  EXPECT_NE(all.find("int8"), std::string::npos) << all;
  EXPECT_EQ(passed(Wrong::kManyRows).find("fp16"), std::string::npos);
  EXPECT_EQ(passed(Wrong::kAllSums), "");
}

TEST_F(VulkanUnitsTest, the_cpu_has_none) {
  try {
    make_backend({.device = "cpu", .gemm_order = "mma"}, *pool_);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("of GPUs"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace foretoken::vulkan_units_test
