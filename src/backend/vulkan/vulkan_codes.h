#pragma once
// VulkanCodes: weights that are codes (weight_format.h) on a device, at their own bits, as
// shaders/codes.glsl lays them out: codes in blocks of 32 k, scales and what else there is of
// groups in arrays of their own. Behind the last row are scales of 0; behind a row's last element
// are codes that stand for 0. Immutable once packed. Not the products: vulkan_products.h.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/vulkan/calls.h"
#include "backend/vulkan/context.h"
#include "backend/weight_format.h"
#include "base/threads.h"

namespace foretoken {

class VulkanCodes {
 public:
  static constexpr std::int64_t kBlock = 32;
  static constexpr std::int64_t kGroup = 4;  // rows that lie together

  // The rows of all parts one below the other. Throws Error where there is no memory.
  VulkanCodes(VulkanContext& context, const WeightFormat& format,
              std::span<const CodedRows* const> parts, ThreadPool& pool);

  const WeightFormat& format() const { return format_; }
  std::size_t bytes() const;
  std::int64_t blocks() const { return blocks_; }  // of a row
  std::int64_t blocks_per_scale() const { return blocks_per_scale_; }
  CodesAt place() const;
  Address order() const;  // of columns, as 32-bit integers; 0: they lie as they are
  // Columns of the input that share a scale, where the format rounds it.
  std::int64_t group() const;

  // Whether the numbers that codes stand for, and products of rounded input are made of, are those of
  // signed bytes.
  bool fits_8_bits() const;

  // KIND of the shaders; rows: of a workgroup.
  std::uint32_t kind(std::int64_t rows) const;

 private:
  struct Images;  // what is loaded

  void expect_format(std::int64_t width) const;
  void put_row(const CodedRows& rows, std::int64_t row, std::int64_t column, std::uint32_t* codes,
               Images& images, std::int64_t group) const;

  WeightFormat format_;
  std::int64_t width_ = 0, blocks_ = 0, blocks_per_scale_ = 1, scales_per_row_ = 0;
  std::unique_ptr<GpuPart> codes_, scales_, minima_, multiples_, zeros_, order_;
};

}  // namespace foretoken
