#include "backend/vulkan/context.h"

#include <algorithm>
#include <cstring>

#include "base/index.h"

namespace foretoken {
namespace {

constexpr std::size_t kPiece = std::size_t{16} << 20;  // of the host's memory that a load takes
constexpr std::size_t kStep = 256;                     // that addresses are multiples of

std::size_t padded(DType dtype, const Shape& shape) {
  return round_up(std::max(at(shape.elements()) * dtype_bytes(dtype), std::size_t{1}), kStep);
}

}  // namespace

void VulkanContext::load(Address to, std::size_t bytes, const WritePiece& write) {
  if (bytes == 0) return;
  const GpuBlock piece(gpu, std::min(bytes, kPiece), MemoryUse::kSend);
  for (std::size_t offset = 0; offset < bytes; offset += kPiece) {
    const std::size_t count = std::min(kPiece, bytes - offset);
    write(offset, {piece.host(), count});
    recorder.copy(piece.address(), to + offset, count);
    recorder.wait();
  }
}

std::vector<std::byte> VulkanContext::fetch(Address from, std::size_t bytes) {
  std::vector<std::byte> got(bytes);
  if (bytes == 0) return got;
  const GpuBlock piece(gpu, std::min(bytes, kPiece), MemoryUse::kReceive);
  for (std::size_t offset = 0; offset < bytes; offset += kPiece) {
    const std::size_t count = std::min(kPiece, bytes - offset);
    recorder.copy(from + offset, piece.address(), count);
    recorder.wait();
    std::memcpy(got.data() + offset, piece.host(), count);
  }
  return got;
}

std::unique_ptr<GpuPart> GpuHeap::take(std::size_t bytes) {
  constexpr std::size_t kShared = std::size_t{64} << 20, kSmall = std::size_t{8} << 20;
  bytes = round_up(std::max(bytes, std::size_t{1}), kStep);
  if (bytes > kSmall)
    return std::make_unique<GpuPart>(std::make_shared<GpuBlock>(gpu_, bytes, MemoryUse::kDevice), 0,
                                     bytes);
  if (!shared_ || used_ + bytes > shared_->bytes()) {
    shared_ = std::make_shared<GpuBlock>(gpu_, kShared, MemoryUse::kDevice);
    used_ = 0;
  }
  used_ += bytes;
  return std::make_unique<GpuPart>(shared_, used_ - bytes, bytes);
}

Tensor GpuStore::alloc(DType dtype, const Shape& shape) {
  constexpr std::size_t kShared = std::size_t{4} << 20;
  const std::size_t bytes = padded(dtype, shape);
  const bool is_small = bytes <= kShared / 4;
  if (is_small && shared_ != nullptr && used_ + bytes <= kShared) {
    used_ += bytes;
    return tensor_at(shared_->address() + used_ - bytes, dtype, shape);
  }
  blocks_.push_back(
      std::make_unique<GpuBlock>(context_.gpu, is_small ? kShared : bytes, MemoryUse::kDevice));
  const GpuBlock& block = *blocks_.back();
  context_.recorder.fill_zero(block);
  if (is_small) shared_ = &block, used_ = bytes;
  return tensor_at(block.address(), dtype, shape);
}

Tensor GpuArena::alloc(DType dtype, const Shape& shape) {
  constexpr std::size_t kBlock = std::size_t{8} << 20;
  const std::size_t bytes = padded(dtype, shape);
  while (at_.block < blocks_.size() && at_.offset + bytes > blocks_[at_.block]->bytes()) {
    ++at_.block;
    at_.offset = 0;
  }
  if (at_.block == blocks_.size())
    blocks_.push_back(
        std::make_unique<GpuBlock>(context_.gpu, std::max(bytes, kBlock), MemoryUse::kDevice));
  const Tensor taken = tensor_at(blocks_[at_.block]->address() + at_.offset, dtype, shape);
  at_.offset += bytes;
  at_.used += bytes;
  most_ = std::max(most_, at_.used);
  return taken;
}

// Several blocks become one that holds the largest step so far.
void GpuArena::reset() {
  at_ = {};
  if (blocks_.size() < 2) return;
  context_.recorder.wait();
  blocks_.clear();
  blocks_.push_back(std::make_unique<GpuBlock>(context_.gpu, most_, MemoryUse::kDevice));
}

}  // namespace foretoken
