#pragma once
// VulkanContext: a device that is open, its queue and its shaders, shared by whatever keeps memory
// on it. And its memory: what lasts, and the scratch of a step. One thread at a time.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/vulkan/gpu.h"
#include "backend/vulkan/pipelines.h"
#include "backend/vulkan/recorder.h"
#include "tensor/arena.h"

namespace foretoken {

// A part of a block, which goes when its last part does.
class GpuPart {
 public:
  GpuPart(std::shared_ptr<const GpuBlock> block, std::size_t offset, std::size_t bytes)
      : block_(std::move(block)), offset_(offset), bytes_(bytes) {}
  std::size_t bytes() const { return bytes_; }
  Address address() const { return block_->address() + offset_; }

 private:
  std::shared_ptr<const GpuBlock> block_;
  std::size_t offset_, bytes_;
};

// Memory of packed weights. Small ones share blocks, because devices bound how many blocks there
// are, and a mixture has thousands of matrices.
class GpuHeap {
 public:
  explicit GpuHeap(Gpu& gpu) : gpu_(gpu) {}
  std::unique_ptr<GpuPart> take(std::size_t bytes);

 private:
  Gpu& gpu_;
  std::shared_ptr<const GpuBlock> shared_;
  std::size_t used_ = 0;  // of it
};

struct VulkanContext {
  explicit VulkanContext(const VulkanOptions& options)
      : gpu(options), heap(gpu), pipelines(gpu, options.cache_folder), recorder(gpu) {}

  // Blocks until `bytes` from `to` on are what write(offset, piece) makes of each piece, in order.
  using WritePiece = std::function<void(std::size_t offset, std::span<std::byte> piece)>;
  void load(Address to, std::size_t bytes, const WritePiece& write);
  // Blocks until the host has them.
  std::vector<std::byte> fetch(Address from, std::size_t bytes);

  Gpu gpu;
  GpuHeap heap;
  Pipelines pipelines;
  MatrixUnits units = {};  // by which products go: none, or those that the audit has passed
  Recorder recorder;       // ends first: it waits
};

// Zeroed memory that lasts as long as this.
class GpuStore {
 public:
  explicit GpuStore(VulkanContext& context) : context_(context) {}
  Tensor alloc(DType dtype, const Shape& shape);

 private:
  VulkanContext& context_;
  std::vector<std::unique_ptr<GpuBlock>> blocks_;
  const GpuBlock* shared_ = nullptr;  // of small tensors
  std::size_t used_ = 0;              // of it
};

// What tensor/arena.h is to the host. What it frees may be in use by calls that are not done yet:
// later calls come after them.
class GpuArena {
 public:
  explicit GpuArena(VulkanContext& context) : context_(context) {}
  Tensor alloc(DType dtype, const Shape& shape);
  Arena::Mark mark() const { return at_; }
  void release(const Arena::Mark& mark) { at_ = mark; }
  void reset();
  std::size_t most_bytes() const { return most_; }

 private:
  VulkanContext& context_;
  std::vector<std::unique_ptr<GpuBlock>> blocks_;
  Arena::Mark at_;
  std::size_t most_ = 0;
};

}  // namespace foretoken
