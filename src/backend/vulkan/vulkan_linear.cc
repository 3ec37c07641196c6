#include "backend/vulkan/vulkan_linear.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "backend/float_view.h"
#include "backend/quantize.h"
#include "base/error.h"
#include "base/index.h"

namespace foretoken {
namespace {

// The first `width` of a row's elements, which go on for whole blocks; float32 takes two places each.
void read_row(const Tensor& part, std::int64_t row, DType dtype, std::vector<std::uint16_t>& to) {
  const std::int64_t width = part.dim(1), first = row * width;
  if (dtype != DType::kBF16) {
    for (std::int64_t k = 0; k < width; ++k)
      store_float(to.data(), dtype, k, load_float(part.data(), part.dtype(), first + k));
    return;
  }
  if (part.dtype() == DType::kBF16)
    std::copy_n(part.bits16() + first, width, to.begin());
  else
    for (std::int64_t k = 0; k < width; ++k)
      to[at(k)] = f32_to_bf16(load_float(part.data(), part.dtype(), first + k));
  for (std::int64_t k = 0; k < width; ++k)
    if ((to[at(k)] & 0x7f80U) == 0) to[at(k)] &= 0x8000U;
}

// Into its place among the rows of its group, by quads of 8 elements.
void put_row(std::span<const std::uint16_t> row, std::int64_t column, std::int64_t columns,
             std::uint16_t* group) {
  constexpr std::int64_t kQuad = 8, kQuads = VulkanLinear::kBlock / kQuad, kLanes = 32;
  const std::int64_t blocks = static_cast<std::int64_t>(row.size()) / VulkanLinear::kBlock;
  for (std::int64_t start = 0; start < blocks; start += kLanes) {
    const std::int64_t many = std::min(kLanes, blocks - start);
    for (std::int64_t b = 0; b < many; ++b)
      for (std::int64_t i = 0; i < kQuads; ++i)
        std::copy_n(row.data() + ((start + b) * kQuads + i) * kQuad, kQuad,
                    group + ((start * kQuads + i * many) * columns + column * many + b) * kQuad);
  }
}

// Row `row` of matrices that lie one below the other.
struct Place {
  const Tensor* part;
  std::int64_t row;
};
Place place_of(std::span<const Tensor> parts, std::int64_t row) {
  for (const Tensor& part : parts) {
    if (row < part.dim(0)) return {&part, row};
    row -= part.dim(0);
  }
  return {nullptr, 0};
}

}  // namespace

VulkanLinear::VulkanLinear(std::shared_ptr<VulkanContext> context, const LinearParts& parts,
                           ThreadPool& pool)
    : context_(std::move(context)), dtype_(parts.dtype) {
  std::vector<std::int64_t> rows;
  for (const Tensor& part : parts.weights) {
    rows.push_back(part.dim(0));
    in_ = part.dim(1);
  }
  for (const CodedRows* part : parts.codes) {
    rows.push_back(part->rows());
    in_ = part->width();
  }
  CHECK(!rows.empty() && (parts.weights.empty() || parts.codes.empty()));
  for (const Tensor& part : parts.weights)
    CHECK(part.dim(1) == in_) << "stacked matrices of widths " << in_ << " and " << part.dim(1);
  out_ = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
  const bool is_chain = !parts.format.is_coded() && dtype_ != DType::kBF16;
  padded_ = round_up(in_, !is_chain ? kBlock : dtype_ == DType::kF16 ? 2 : 1);
  if (parts.format.is_coded())
    load_codes(parts, pool);
  else
    load_weights(parts, pool);
  load_bias(parts, rows);
}

VulkanLinear::~VulkanLinear() {
  if (weights_ || codes_) context_->recorder.wait_at_end();
}

std::size_t VulkanLinear::bytes() const {
  return (codes_ ? codes_->bytes() : weights_->bytes()) + (bias_ ? bias_->bytes() : 0);
}

MatrixAt VulkanLinear::place() const {
  if (!codes_) return {{weights(), 0, 0, 0, 0}, bias(), 0};
  return {codes_->place(), bias(), codes_->order()};
}

void VulkanLinear::load_codes(const LinearParts& parts, ThreadPool& pool) {
  std::vector<QuantizedRows> made;
  made.reserve(parts.weights.size());
  std::vector<const CodedRows*> all(parts.codes.begin(), parts.codes.end());
  for (const Tensor& part : parts.weights) all.push_back(&made.emplace_back(part, parts.format));
  codes_ = std::make_unique<VulkanCodes>(*context_, parts.format, all, pool);
}

void VulkanLinear::load_weights(const LinearParts& parts, ThreadPool& pool) {
  const std::int64_t groups = ceil_div(out_, group_rows()), elements = group_rows() * padded_;
  const std::size_t group_bytes = at(elements) * dtype_bytes(dtype_);
  weights_ = context_->heap.take(at(groups) * group_bytes);
  // A few groups at a time.
  const std::int64_t step =
      std::max(std::int64_t{1}, static_cast<std::int64_t>((std::size_t{8} << 20) / group_bytes));
  for (std::int64_t first = 0; first < groups; first += step) {
    const std::int64_t many = std::min(step, groups - first);
    std::vector<std::byte> made(at(many) * group_bytes);
    pool.parallel_for(static_cast<int>(many), [&](int g, int) {
      put_group(parts.weights, first + g, made.data() + at(g) * group_bytes);
    });
    const std::byte* from = made.data();
    context_->load(weights() + at(first) * group_bytes, at(many) * group_bytes,
                   [&](std::size_t at_byte, std::span<std::byte> piece) {
                     std::memcpy(piece.data(), from + at_byte, piece.size());
                   });
  }
}

void VulkanLinear::put_group(std::span<const Tensor> parts, std::int64_t group,
                             std::byte* to) const {
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(dtype_));
  const std::int64_t of_word = 4 / bytes;
  std::vector<std::uint16_t> row(at(padded_ * bytes / 2));
  for (std::int64_t c = 0; c < group_rows(); ++c) {
    const Place place = place_of(parts, group * group_rows() + c);
    if (place.part == nullptr) continue;
    read_row(*place.part, place.row, dtype_, row);
    if (dtype_ == DType::kBF16) {
      put_row(row, c, group_rows(), reinterpret_cast<std::uint16_t*>(to));
      continue;
    }
    constexpr std::int64_t kWord = sizeof(std::uint32_t);
    for (std::int64_t word = 0; word < padded_ / of_word; ++word)
      std::memcpy(to + (word * group_rows() + c) * kWord, row.data() + 2 * word, kWord);
  }
}

void VulkanLinear::load_bias(const LinearParts& parts, std::span<const std::int64_t> rows) {
  CHECK(parts.biases.empty() || parts.biases.size() == rows.size());
  if (std::ranges::all_of(parts.biases, [](const Tensor& bias) { return bias.empty(); })) return;
  std::vector<float> all(at(out_));
  float* to = all.data();
  for (std::size_t i = 0; i < parts.biases.size(); to += rows[i++]) {
    const Tensor& bias = parts.biases[i];
    if (bias.empty()) continue;
    CHECK(bias.elements() == rows[i]);
    for (std::int64_t k = 0; k < bias.elements(); ++k)
      to[k] = load_float(bias.data(), bias.dtype(), k);
  }
  bias_ = context_->heap.take(all.size() * sizeof(float));
  context_->load(
      bias(), all.size() * sizeof(float), [&](std::size_t offset, std::span<std::byte> piece) {
        std::memcpy(piece.data(), reinterpret_cast<const std::byte*>(all.data()) + offset,
                    piece.size());
      });
}

}  // namespace foretoken
