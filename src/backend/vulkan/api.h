#pragma once
// VulkanApi: Vulkan's functions, found at run time: the loader (libvulkan.so.1) is opened, not
// linked, so a program without it starts as ever. An instance and the devices behind it. Not a
// device that computes: gpu.h. One thread at a time.

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <memory>
#include <string>
#include <vector>

#include "backend/device_choice.h"

namespace foretoken {

// Of an instance, then of a device.
#define FT_VULKAN_INSTANCE_FUNCTIONS(USE)       \
  USE(vkDestroyInstance)                        \
  USE(vkEnumeratePhysicalDevices)               \
  USE(vkEnumerateDeviceExtensionProperties)     \
  USE(vkGetPhysicalDeviceProperties2)           \
  USE(vkGetPhysicalDeviceFeatures2)             \
  USE(vkGetPhysicalDeviceMemoryProperties2)     \
  USE(vkGetPhysicalDeviceQueueFamilyProperties) \
  USE(vkCreateDevice)                           \
  USE(vkGetDeviceProcAddr)
#define FT_VULKAN_DEVICE_FUNCTIONS(USE) \
  USE(vkDestroyDevice)                  \
  USE(vkGetDeviceQueue)                 \
  USE(vkDeviceWaitIdle)                 \
  USE(vkCreateBuffer)                   \
  USE(vkDestroyBuffer)                  \
  USE(vkGetBufferMemoryRequirements)    \
  USE(vkGetBufferDeviceAddress)         \
  USE(vkAllocateMemory)                 \
  USE(vkFreeMemory)                     \
  USE(vkBindBufferMemory)               \
  USE(vkMapMemory)                      \
  USE(vkCreateShaderModule)             \
  USE(vkDestroyShaderModule)            \
  USE(vkCreatePipelineLayout)           \
  USE(vkDestroyPipelineLayout)          \
  USE(vkCreateComputePipelines)         \
  USE(vkCreatePipelineCache)            \
  USE(vkGetPipelineCacheData)           \
  USE(vkDestroyPipelineCache)           \
  USE(vkDestroyPipeline)                \
  USE(vkCreateCommandPool)              \
  USE(vkDestroyCommandPool)             \
  USE(vkResetCommandPool)               \
  USE(vkAllocateCommandBuffers)         \
  USE(vkBeginCommandBuffer)             \
  USE(vkEndCommandBuffer)               \
  USE(vkCmdBindPipeline)                \
  USE(vkCmdPushConstants)               \
  USE(vkCmdDispatch)                    \
  USE(vkCmdCopyBuffer)                  \
  USE(vkCmdFillBuffer)                  \
  USE(vkCmdPipelineBarrier)             \
  USE(vkCreateSemaphore)                \
  USE(vkDestroySemaphore)               \
  USE(vkWaitSemaphores)                 \
  USE(vkQueueSubmit)

struct VulkanApi {
#define FT_DECLARE(function) PFN_##function function = nullptr;
  FT_VULKAN_INSTANCE_FUNCTIONS(FT_DECLARE)
  FT_VULKAN_DEVICE_FUNCTIONS(FT_DECLARE)
#undef FT_DECLARE
};

class VulkanInstance {
 public:
  // Throws Error where there is no loader, or no driver behind it.
  VulkanInstance();
  ~VulkanInstance();
  VulkanInstance(const VulkanInstance&) = delete;
  VulkanInstance& operator=(const VulkanInstance&) = delete;

  const VulkanApi& api() const { return api_; }
  const std::vector<VkPhysicalDevice>& devices() const { return devices_; }
  DeviceFacts facts(VkPhysicalDevice device) const;
  std::vector<DeviceFacts> all_facts() const;
  // The family of queues that computes, or -1.
  int compute_family(VkPhysicalDevice device) const;
  bool has_extension(VkPhysicalDevice device, const char* name) const;
  // Of an extension; null: there is none of that name.
  PFN_vkVoidFunction function(const char* name) const { return get_(instance_, name); }

 private:
  void read_memory(VkPhysicalDevice device, DeviceFacts& facts) const;
  void read_features(VkPhysicalDevice device, DeviceFacts& facts) const;

  PFN_vkGetInstanceProcAddr get_ = nullptr;
  VkInstance instance_ = nullptr;
  VulkanApi api_;
  std::vector<VkPhysicalDevice> devices_;
};

// What there is; `reason` says why where that is nothing.
std::vector<DeviceFacts> list_vulkan_devices(std::string& reason);

// Throws Error where a call of Vulkan's has failed; of memory where that is why; DeviceLost.
void check_vulkan(VkResult result, const char* what);

}  // namespace foretoken
