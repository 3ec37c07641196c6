#include "tensor/arena.h"

#include <algorithm>

namespace foretoken {
namespace {
constexpr std::size_t kAlignment = 64;
}

Arena::Arena(std::size_t block_bytes) : block_bytes_(block_bytes) {}

Tensor Arena::alloc(DType dtype, Shape shape) {
  const Tensor sized(nullptr, dtype, shape);
  // An empty tensor still gets an address of its own, so that it differs from "no tensor".
  const std::size_t bytes =
      std::max(kAlignment, (sized.bytes() + kAlignment - 1) / kAlignment * kAlignment);
  while (block_ < blocks_.size() && bytes > blocks_[block_].bytes() - offset_) {
    ++block_;
    offset_ = 0;
  }
  if (block_ == blocks_.size()) blocks_.emplace_back(std::max(bytes, block_bytes_));
  auto* data = static_cast<std::byte*>(blocks_[block_].data()) + offset_;
  offset_ += bytes;
  return {data, dtype, shape};
}

void Arena::reset() {
  block_ = 0;
  offset_ = 0;
}

std::size_t Arena::reserved_bytes() const {
  std::size_t total = 0;
  for (const Buffer& block : blocks_) total += block.bytes();
  return total;
}

}  // namespace foretoken
