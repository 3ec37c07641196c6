#pragma once
// RoundedTwin: the operations that make inputs of products write them twice, as float32 and as the
// blocks of bf16 that products take. This is the memory of the second form, and knows whose it is:
// of the last tensor that was made so, until something may have written to that. One for all: calls
// are done in order. Not a cache: it never holds more than one. One thread at a time.

#include <algorithm>
#include <memory>

#include "backend/vulkan/context.h"
#include "backend/vulkan/vulkan_linear.h"
#include "base/index.h"

namespace foretoken {

class RoundedTwin {
 public:
  explicit RoundedTwin(VulkanContext& context) : context_(context) {}

  // Room for the twin of x [rows, width], which the next call writes together with x.
  Address make(const Tensor& x) {
    const std::size_t wanted = at(x.dim(0) * round_up(x.dim(1), VulkanLinear::kBlock)) * 2;
    if (!memory_ || memory_->bytes() < wanted) {
      context_.recorder.wait();  // for calls that read it
      memory_ = std::make_unique<GpuBlock>(context_.gpu, wanted, MemoryUse::kDevice);
    }
    of_ = address_of(x);
    end_ = of_ + x.bytes();
    width_ = x.dim(1);
    return memory_->address();
  }
  void forget() { of_ = end_ = 0; }
  void written(const Tensor& y) {
    if (address_of(y) < end_ && of_ < address_of(y) + y.bytes()) forget();
  }
  // The twin of x, or of the rows that x is the first of; 0: there is none.
  Address of(const Tensor& x) const {
    const bool is_it = address_of(x) == of_ && x.dim(1) == width_ && of_ + x.bytes() <= end_;
    return is_it ? memory_->address() : 0;
  }

 private:
  VulkanContext& context_;
  std::unique_ptr<GpuBlock> memory_;
  Address of_ = 0, end_ = 0;  // of the tensor
  std::int64_t width_ = 0;
};

}  // namespace foretoken
