#include "backend/vulkan/gpu.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "base/error.h"
#include "base/index.h"
#include "base/word_sum.h"

namespace foretoken {

GpuBlock::GpuBlock(Gpu& gpu, std::size_t bytes, MemoryUse use)
    : gpu_(gpu), bytes_(round_up(std::max(bytes, std::size_t{1}), std::size_t{256})) {
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = bytes_;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
               VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  check_vulkan(gpu.api().vkCreateBuffer(gpu.device(), &info, nullptr, &buffer_), "vkCreateBuffer");
  try {
    take_memory(use);
  } catch (...) {
    gpu.api().vkDestroyBuffer(gpu.device(), buffer_, nullptr);
    gpu.api().vkFreeMemory(gpu.device(), memory_, nullptr);
    throw;
  }
  gpu.blocks_[address_] = this;
}

void GpuBlock::take_memory(MemoryUse use) {
  const VulkanApi& api = gpu_.api();
  VkMemoryRequirements needs{};
  api.vkGetBufferMemoryRequirements(gpu_.device(), buffer_, &needs);
  VkMemoryAllocateFlagsInfo flags{};
  flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  info.pNext = &flags;
  info.allocationSize = needs.size;
  info.memoryTypeIndex = gpu_.memory_type(needs.memoryTypeBits, use);
  check_vulkan(api.vkAllocateMemory(gpu_.device(), &info, nullptr, &memory_), "vkAllocateMemory");
  check_vulkan(api.vkBindBufferMemory(gpu_.device(), buffer_, memory_, 0), "vkBindBufferMemory");
  if (use != MemoryUse::kDevice) {
    void* mapped = nullptr;
    check_vulkan(api.vkMapMemory(gpu_.device(), memory_, 0, VK_WHOLE_SIZE, 0, &mapped),
                 "vkMapMemory");
    host_ = static_cast<std::byte*>(mapped);
  }
  VkBufferDeviceAddressInfo where{};
  where.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
  where.buffer = buffer_;
  address_ = api.vkGetBufferDeviceAddress(gpu_.device(), &where);
}

GpuBlock::~GpuBlock() {
  gpu_.blocks_.erase(address_);
  gpu_.api().vkDestroyBuffer(gpu_.device(), buffer_, nullptr);
  gpu_.api().vkFreeMemory(gpu_.device(), memory_, nullptr);
}

Gpu::Gpu(const VulkanOptions& options) {
  const std::vector<DeviceFacts> all = instance_.all_facts();
  const std::size_t chosen = choose_device(options.device, all);
  physical_ = instance_.devices()[chosen];
  facts_ = all[chosen];
  api_ = instance_.api();
  family_ = static_cast<std::uint32_t>(instance_.compute_family(physical_));
  if (options.wants_matrix_units) units_ = find_matrix_units(instance_, physical_, facts_);
  open();
  if (options.edit) options.edit(api_);
  VkPhysicalDeviceMemoryProperties2 memory{};
  memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  api_.vkGetPhysicalDeviceMemoryProperties2(physical_, &memory);
  memory_ = memory.memoryProperties;
}

void Gpu::open() {
  VkPhysicalDeviceVulkan12Features features12{};
  features12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  features12.bufferDeviceAddress = VK_TRUE;
  features12.timelineSemaphore = VK_TRUE;
  VkPhysicalDeviceFeatures2 features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = &features12;
  features.features.shaderFloat64 = facts_.has_doubles ? VK_TRUE : VK_FALSE;
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = family_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &features;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  UnitFeatures units(units_);
  units.put_into(info, features12);
  check_vulkan(api_.vkCreateDevice(physical_, &info, nullptr, &device_), "vkCreateDevice");
#define FT_LOAD(function) \
  api_.function = reinterpret_cast<PFN_##function>(api_.vkGetDeviceProcAddr(device_, #function));
  FT_VULKAN_DEVICE_FUNCTIONS(FT_LOAD)
#undef FT_LOAD
  api_.vkGetDeviceQueue(device_, family_, 0, &queue_);
}

Gpu::~Gpu() {
  CHECK(blocks_.empty()) << blocks_.size() << " blocks outlive their device";
  api_.vkDestroyDevice(device_, nullptr);
}

std::uint64_t Gpu::fingerprint() const {
  VkPhysicalDeviceIDProperties ids{};
  ids.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
  VkPhysicalDeviceProperties2 all{};
  all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  all.pNext = &ids;
  api_.vkGetPhysicalDeviceProperties2(physical_, &all);
  const VkPhysicalDeviceProperties& p = all.properties;
  std::string text = facts_.name + '\n' + facts_.driver + '\n';
  for (const std::uint32_t number : {p.vendorID, p.deviceID, p.driverVersion, p.apiVersion})
    text += std::to_string(number) + '\n';
  for (const auto* id :
       std::array<const std::uint8_t*, 3>{ids.deviceUUID, ids.driverUUID, p.pipelineCacheUUID})
    text.append(id, id + VK_UUID_SIZE);
  return word_sum(std::as_bytes(std::span(text)));
}

std::uint32_t Gpu::memory_type(std::uint32_t bits, MemoryUse use) const {
  constexpr VkMemoryPropertyFlags kReach =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  // What is best, then what will do. Small things that shaders read once may lie on either side.
  const auto find = [&](VkMemoryPropertyFlags wanted) -> std::int64_t {
    for (std::uint32_t t = 0; t < memory_.memoryTypeCount; ++t)
      if ((bits >> t & 1U) != 0 && (memory_.memoryTypes[t].propertyFlags & wanted) == wanted)
        return t;
    return -1;
  };
  std::int64_t type = -1;
  if (use == MemoryUse::kDevice) type = find(VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
  if (use == MemoryUse::kReceive) type = find(kReach | VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
  if (type < 0) type = find(use == MemoryUse::kDevice ? 0 : kReach);
  CHECK(type >= 0) << "no memory that the host reaches";  // Vulkan promises one
  return static_cast<std::uint32_t>(type);
}

Gpu::Place Gpu::place(Address address) const {
  auto it = blocks_.upper_bound(address);
  CHECK(it != blocks_.begin()) << "an address that the device never gave";
  --it;
  const std::size_t offset = address - it->first;
  CHECK(offset < it->second->bytes()) << "an address behind what the device gave";
  return {it->second, offset};
}

bool Gpu::owns(const Tensor& tensor) const {
  const Address address = address_of(tensor);
  auto it = blocks_.upper_bound(address);
  if (it == blocks_.begin()) return false;
  --it;
  return address - it->first < it->second->bytes();
}

}  // namespace foretoken
