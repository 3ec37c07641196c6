#pragma once
// Gpu: one device that is open: its queue, and its memory in blocks that shaders reach by address.
// Not what is computed: recorder.h, vulkan_ops.h. One thread at a time. Blocks live as long as
// their owners, and those no longer than the Gpu.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "backend/vulkan/api.h"
#include "backend/vulkan/matrix_units.h"
#include "backend/vulkan/vulkan_options.h"
#include "tensor/tensor.h"

namespace foretoken {

// An address of the device's.
using Address = std::uint64_t;

enum class MemoryUse : std::uint8_t {
  kDevice,  // of the device's own, out of the host's reach
  kSend,    // written by the host, read by shaders
  kReceive  // written by the device, read by the host
};

class Gpu;

// A buffer and its memory.
class GpuBlock {
 public:
  GpuBlock(Gpu& gpu, std::size_t bytes, MemoryUse use);  // throws Error where there is no memory
  ~GpuBlock();
  GpuBlock(const GpuBlock&) = delete;
  GpuBlock& operator=(const GpuBlock&) = delete;

  std::size_t bytes() const { return bytes_; }
  Address address() const { return address_; }
  VkBuffer buffer() const { return buffer_; }
  std::byte* host() const { return host_; }  // null: out of reach

 private:
  void take_memory(MemoryUse use);

  Gpu& gpu_;
  std::size_t bytes_;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  Address address_ = 0;
  std::byte* host_ = nullptr;
};

class Gpu {
 public:
  // Throws Error: there is no such device.
  explicit Gpu(const VulkanOptions& options);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const VulkanApi& api() const { return api_; }
  VkDevice device() const { return device_; }
  VkQueue queue() const { return queue_; }
  std::uint32_t family() const { return family_; }
  const DeviceFacts& facts() const { return facts_; }
  // Of the device and its driver: what has compiled shaders for one of them has for no other.
  std::uint64_t fingerprint() const;
  // Matrix units that it was opened for.
  const MatrixUnits& units() const { return units_; }
  DeviceFacts facts_now() const { return instance_.facts(physical_); }
  // The type of memory for a use among those of `bits`.
  std::uint32_t memory_type(std::uint32_t bits, MemoryUse use) const;

  // Where an address lies: the block, and the bytes before it. Bug where no block has it.
  struct Place {
    const GpuBlock* block;
    std::size_t offset;
  };
  Place place(Address address) const;
  bool owns(const Tensor& tensor) const;

 private:
  friend class GpuBlock;
  void open();

  VulkanInstance instance_;
  VkPhysicalDevice physical_ = nullptr;
  DeviceFacts facts_;
  MatrixUnits units_;
  VulkanApi api_;
  std::uint32_t family_ = 0;
  VkDevice device_ = nullptr;
  VkQueue queue_ = nullptr;
  VkPhysicalDeviceMemoryProperties memory_{};
  std::map<Address, const GpuBlock*> blocks_;  // by their first address
};

// Tensors of the device's memory have its addresses as data.
inline Address address_of(const Tensor& tensor) { return reinterpret_cast<Address>(tensor.data()); }
inline Tensor tensor_at(Address address, DType dtype, const Shape& shape) {
  return {reinterpret_cast<void*>(address), dtype, shape};
}

}  // namespace foretoken
