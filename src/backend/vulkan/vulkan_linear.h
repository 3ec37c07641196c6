#pragma once
// Weights of a linear layer on a device, and the bias in float32. Immutable once packed. Weights are
//   codes  vulkan_codes.h
//   bf16   rows of blocks of 32, in groups of four rows, as shaders/common.glsl lays them out;
//          denormals become zeros
//   fp16   groups of 64 rows: of each pair of k the pairs of all rows, as shaders/linear_chain.comp
//          reads them
//   fp32   the same of each k
// Behind a row's last element and behind the last row are zeros.

#include <memory>
#include <span>

#include "backend/vulkan/context.h"
#include "backend/vulkan/vulkan_codes.h"
#include "backend/weights.h"
#include "base/threads.h"

namespace foretoken {

class VulkanLinear final : public PackedLinear {
 public:
  static constexpr std::int64_t kBlock = 32;
  static constexpr std::int64_t kColumns = 8;           // of a workgroup of shaders/linear.comp
  static constexpr std::int64_t kColumnsOfChains = 64;  // of one of shaders/linear_chain.comp

  // The matrices are the host's. Throws Error: their format is not held, or there is no memory.
  VulkanLinear(std::shared_ptr<VulkanContext> context, const LinearParts& parts, ThreadPool& pool);
  ~VulkanLinear() override;

  std::int64_t in_width() const override { return in_; }
  std::int64_t out_width() const override { return out_; }
  std::size_t bytes() const override;

  std::int64_t padded_width() const { return padded_; }
  const VulkanCodes* codes() const { return codes_.get(); }  // null: weights are floats
  DType dtype() const { return dtype_; }                     // of floats
  MatrixAt place() const;
  Address weights() const { return weights_->address(); }        // where they are
  Address bias() const { return bias_ ? bias_->address() : 0; }  // 0: none

 private:
  // Rows that lie together.
  std::int64_t group_rows() const { return dtype_ == DType::kBF16 ? 4 : kColumnsOfChains; }

  void load_weights(const LinearParts& parts, ThreadPool& pool);
  void put_group(std::span<const Tensor> parts, std::int64_t group, std::byte* to) const;
  void load_codes(const LinearParts& parts, ThreadPool& pool);
  void load_bias(const LinearParts& parts, std::span<const std::int64_t> rows);

  std::shared_ptr<VulkanContext> context_;
  DType dtype_;
  std::int64_t in_ = 0, out_ = 0, padded_ = 0;
  std::unique_ptr<GpuPart> weights_, bias_;
  std::unique_ptr<VulkanCodes> codes_;
};

}  // namespace foretoken
