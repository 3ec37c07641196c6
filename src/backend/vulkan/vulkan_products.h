#pragma once
// VulkanProducts: products of rows with weights of each kind, and rows of weights by token. A
// product makes of its input what its weights ask for: blocks of bf16, which the operation before
// it may have made already (rounded_twin.h), codes of 8 bits, or nothing. One thread at a time.

#include <span>

#include "backend/vulkan/context.h"
#include "backend/vulkan/rounded_twin.h"
#include "backend/vulkan/vulkan_linear.h"
#include "base/types.h"

namespace foretoken {

class VulkanProducts {
 public:
  VulkanProducts(VulkanContext& context, RoundedTwin& twin, GpuArena& scratch)
      : context_(context), twin_(twin), scratch_(scratch) {}

  // y [rows, out] = x [rows, in] times w, and its bias. What it takes of the scratch is the
  // caller's to release.
  void linear(const VulkanLinear& w, const Tensor& x, const Tensor& y);
  // Rows of w, as its products see them.
  void rows(const VulkanLinear& w, std::span<const Token> tokens, const Tensor& out);

 private:
  Address rounded(const VulkanLinear& w, const Tensor& x);
  struct InputCodes {
    Address codes, scales, sums;
  };
  InputCodes round_to_codes(const VulkanCodes& w, const Tensor& x);
  void multiply(const VulkanLinear& w, const Tensor& x, const Tensor& y);
  void multiply_halves(const VulkanLinear& w, const Tensor& x, const Tensor& y);
  void multiply_codes(const VulkanLinear& w, const Tensor& x, const Tensor& y);

  VulkanContext& context_;
  RoundedTwin& twin_;
  GpuArena& scratch_;
};

}  // namespace foretoken
