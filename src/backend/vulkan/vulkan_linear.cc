#include "backend/vulkan/vulkan_linear.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "backend/float_view.h"
#include "base/error.h"
#include "base/index.h"

namespace foretoken {
namespace {

void refuse_format(const LinearParts& parts) {
  if (!parts.format.is_coded() && parts.dtype == DType::kBF16) return;
  throw Error({.what = "the Vulkan backend does not hold such weights yet",
               .where = "--device",
               .expected = "weights of bfloat16 (see docs/use/gpu.md)",
               .found = parts.format.is_coded()
                            ? "codes of " + std::to_string(parts.format.bits) + " bits"
                            : std::string(dtype_name(parts.dtype))});
}

// A row of pairs: `width` elements of a matrix, then zeros.
void put_row(const Tensor& part, std::int64_t row, std::uint16_t* to, std::int64_t padded) {
  const std::int64_t width = part.dim(1), first = row * width;
  if (part.dtype() == DType::kBF16)
    std::copy_n(part.bits16() + first, width, to);
  else
    for (std::int64_t k = 0; k < width; ++k)
      to[k] = f32_to_bf16(load_float(part.data(), part.dtype(), first + k));
  for (std::int64_t k = 0; k < width; ++k)
    if ((to[k] & 0x7f80U) == 0) to[k] &= 0x8000U;
  std::fill(to + width, to + padded, std::uint16_t{0});
}

}  // namespace

VulkanLinear::VulkanLinear(std::shared_ptr<VulkanContext> context, const LinearParts& parts,
                           ThreadPool& pool)
    : context_(std::move(context)) {
  refuse_format(parts);
  CHECK(!parts.weights.empty());
  in_ = parts.weights[0].dim(1);
  for (const Tensor& part : parts.weights) {
    CHECK(part.dim(1) == in_) << "stacked matrices of widths " << in_ << " and " << part.dim(1);
    out_ += part.dim(0);
  }
  padded_ = round_up(in_, kBlock);
  load_weights(parts, pool);
  load_bias(parts);
}

VulkanLinear::~VulkanLinear() {
  if (weights_) context_->recorder.wait();
}

void VulkanLinear::load_weights(const LinearParts& parts, ThreadPool& pool) {
  const std::size_t row_bytes = at(padded_) * sizeof(std::uint16_t);
  const std::size_t bytes = at(round_up(out_, kColumns)) * row_bytes;
  weights_ = std::make_unique<GpuBlock>(context_->gpu, bytes, MemoryUse::kDevice);
  context_->recorder.fill_zero(*weights_);
  std::size_t offset = 0;
  for (const Tensor& part : parts.weights) {
    // A few rows at a time, whole ones.
    const std::int64_t step =
        std::max(std::int64_t{1}, static_cast<std::int64_t>((std::size_t{8} << 20) / row_bytes));
    for (std::int64_t first = 0; first < part.dim(0); first += step) {
      const std::int64_t rows = std::min(step, part.dim(0) - first);
      std::vector<std::uint16_t> made(at(rows * padded_));
      pool.parallel_for(static_cast<int>(rows), [&](int r, int) {
        put_row(part, first + r, made.data() + r * padded_, padded_);
      });
      const auto* from = reinterpret_cast<const std::byte*>(made.data());
      context_->load(weights() + offset, at(rows) * row_bytes,
                     [&](std::size_t at_byte, std::span<std::byte> piece) {
                       std::memcpy(piece.data(), from + at_byte, piece.size());
                     });
      offset += at(rows) * row_bytes;
    }
  }
}

void VulkanLinear::load_bias(const LinearParts& parts) {
  CHECK(parts.biases.empty() || parts.biases.size() == parts.weights.size());
  if (std::ranges::all_of(parts.biases, [](const Tensor& bias) { return bias.empty(); })) return;
  std::vector<float> all(at(out_));
  float* to = all.data();
  for (std::size_t i = 0; i < parts.biases.size(); to += parts.weights[i++].dim(0)) {
    const Tensor& bias = parts.biases[i];
    if (bias.empty()) continue;
    CHECK(bias.elements() == parts.weights[i].dim(0));
    for (std::int64_t k = 0; k < bias.elements(); ++k)
      to[k] = load_float(bias.data(), bias.dtype(), k);
  }
  bias_ = std::make_unique<GpuBlock>(context_->gpu, all.size() * sizeof(float), MemoryUse::kDevice);
  context_->load(
      bias(), all.size() * sizeof(float), [&](std::size_t offset, std::span<std::byte> piece) {
        std::memcpy(piece.data(), reinterpret_cast<const std::byte*>(all.data()) + offset,
                    piece.size());
      });
}

}  // namespace foretoken
