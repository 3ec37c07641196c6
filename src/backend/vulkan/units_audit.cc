#include "backend/vulkan/units_audit.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "backend/vulkan/rounded_twin.h"
#include "backend/vulkan/vulkan_linear.h"
#include "backend/vulkan/vulkan_products.h"
#include "base/error.h"
#include "base/index.h"
#include "base/log.h"
#include "base/rng.h"

namespace foretoken {
namespace {

// Within +-1, by place.
std::vector<float> random_values(std::uint64_t seed, std::int64_t count) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(
        static_cast<float>(mix_seed(seed, static_cast<std::uint64_t>(i)) >> 40U) * 0x1p-23F - 1.0F);
  return values;
}

class UnitsAudit {
 public:
  UnitsAudit(const std::shared_ptr<VulkanContext>& context, ThreadPool& pool)
      : context_(context), pool_(pool), scratch_(*context), twin_(*context) {}

  // Why products of weights of this type are not fit for use; empty: they are.
  std::string fault(DType dtype) {
    for (const auto& [width, columns] : {std::pair{40, 70}, {96, 64}, {1000, 130}}) {
      const std::string found = fault_of(dtype, width, columns);
      if (!found.empty())
        return found + ", " + std::to_string(width) + " x " + std::to_string(columns);
    }
    return "";
  }

  // The same of products of codes with rounded input: other bits than those of tile order.
  std::string fault_of_bytes() {
    constexpr std::int64_t kWidth = 992, kColumns = 70;
    std::vector<float> weights = random_values(1, kColumns * kWidth);
    const std::vector<float> x = random_values(2, kRows * kWidth);
    const Tensor matrix(weights.data(), DType::kF32, {kColumns, kWidth});
    const WeightFormat bytes{.bits = 8, .rounds_input = true};
    const WeightFormat groups{.bits = 4, .group = 32, .scale = DType::kBF16, .rounds_input = true};
    for (const WeightFormat& format : {bytes, groups}) {
      const VulkanLinear w(
          context_,
          {.weights = {&matrix, 1}, .biases = {}, .dtype = DType::kBF16, .format = format}, pool_);
      const std::vector<float> found = product(w, x, 0, kRows);
      const MatrixUnits units = std::exchange(context_->units, {});
      const std::vector<float> expected = product(w, x, 0, kRows);
      context_->units = units;
      if (std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)) != 0)
        return "sums are others than those of tile order";
    }
    return "";
  }

 private:
  static constexpr std::int64_t kRows = 37;  // more than two tiles have

  std::string fault_of(DType dtype, std::int64_t width, std::int64_t columns) {
    const std::vector<float> weights = random_values(1, columns * width);
    std::vector<float> x = random_values(2, kRows * width);
    for (std::size_t i = 0; i < x.size(); ++i)
      if (i % 29 == 0) x[i] *= 300.0F;
    std::vector<float> stored = weights;
    const Tensor matrix(stored.data(), DType::kF32, {columns, width});
    const VulkanLinear w(context_, {.weights = {&matrix, 1}, .biases = {}, .dtype = dtype}, pool_);
    const std::vector<float> all = product(w, x, 0, kRows);
    for (const std::int64_t many : {1, 5, 9, 20})
      for (std::int64_t row = 0; row + many <= kRows; row += many) {
        const std::vector<float> some = product(w, x, row, many);
        if (std::memcmp(some.data(), all.data() + row * columns, some.size() * sizeof(float)) != 0)
          return "rows have other bits beside others";
      }
    for (std::int64_t row = 0; row < kRows; ++row)
      for (std::int64_t column = 0; column < columns; ++column)
        if (!is_near(weights, x, width, row, column, all[at(row * columns + column)]))
          return "products are not near to what they should be";
    return "";
  }

  std::vector<float> product(const VulkanLinear& w, std::span<const float> x, std::int64_t row,
                             std::int64_t many) {
    context_->recorder.begin_frame();
    scratch_.reset();
    VulkanProducts products(*context_, twin_, scratch_);
    const Tensor in = scratch_.alloc(DType::kF32, {many, w.in_width()});
    const Tensor out = scratch_.alloc(DType::kF32, {many, w.out_width()});
    const auto* from = reinterpret_cast<const std::byte*>(x.data() + row * w.in_width());
    context_->load(address_of(in), in.bytes(), [&](std::size_t offset, std::span<std::byte> piece) {
      std::memcpy(piece.data(), from + offset, piece.size());
    });
    twin_.forget();
    products.linear(w, in, out);
    const std::vector<std::byte> bytes = context_->fetch(address_of(out), out.bytes());
    std::vector<float> found(at(out.elements()));
    std::memcpy(found.data(), bytes.data(), bytes.size());
    return found;
  }

  // Both factors are rounded, to 8 bits at least, and so is each sum.
  static bool is_near(std::span<const float> weights, std::span<const float> x, std::int64_t width,
                      std::int64_t row, std::int64_t column, float found) {
    double sum = 0, magnitude = 0;
    for (std::int64_t k = 0; k < width; ++k) {
      const double term = double{weights[at(column * width + k)]} * double{x[at(row * width + k)]};
      sum += term;
      magnitude += std::abs(term);
    }
    return std::abs(sum - double{found}) <= 0x1p-7 * magnitude;
  }

  const std::shared_ptr<VulkanContext>& context_;
  ThreadPool& pool_;
  GpuArena scratch_;
  RoundedTwin twin_;
};

}  // namespace

MatrixUnits audited_units(const std::shared_ptr<VulkanContext>& context, ThreadPool& pool) {
  const MatrixUnits offered = context->gpu.units();
  MatrixUnits passed = offered;
  const auto check = [&](UnitShape MatrixUnits::* kind, const char* name,
                         const std::function<std::string(UnitsAudit&)>& audit) {
    if (!(offered.*kind).is_there()) return;
    std::string fault;
    try {
      context->units = offered;
      UnitsAudit of(context, pool);
      fault = audit(of);
    } catch (const Error& error) {
      fault = error.what();
    }
    if (fault.empty()) return;
    log_warning("Matrix units of {} are not used: {}.", name, fault);
    passed.*kind = {};
  };
  check(&MatrixUnits::fp16, "fp16", [](UnitsAudit& of) { return of.fault(DType::kF16); });
  check(&MatrixUnits::bf16, "bf16", [](UnitsAudit& of) { return of.fault(DType::kBF16); });
  check(&MatrixUnits::int8, "int8", [](UnitsAudit& of) { return of.fault_of_bytes(); });
  context->units = passed;
  return passed;
}

}  // namespace foretoken
