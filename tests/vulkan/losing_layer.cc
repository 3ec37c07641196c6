// A layer of Vulkan for tests: it lies between a program and its driver, and says that the device
// is lost once the file that LOSING_LAYER_FILE names is there, which it removes. vulkan_test.py
// names it to the loader. One instance, one device.

#include <atomic>
#include <cstdlib>
#include <cstring>

#include <unistd.h>
#include <vulkan/vk_layer.h>

namespace {

PFN_vkGetInstanceProcAddr next_of_instance;
PFN_vkGetDeviceProcAddr next_of_device;
PFN_vkQueueSubmit next_submit;
std::atomic<bool> is_lost{false};

// The link of a chain that the loader made for a layer.
template <typename Link>
Link* link_of(const void* next, VkStructureType type) {
  auto* link = static_cast<Link*>(const_cast<void*>(next));
  while (link != nullptr && (link->sType != type || link->function != VK_LAYER_LINK_INFO))
    link = static_cast<Link*>(const_cast<void*>(link->pNext));
  return link;
}

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info,
                                               const VkAllocationCallbacks* memory,
                                               VkInstance* made) {
  auto* link = link_of<VkLayerInstanceCreateInfo>(info->pNext,
                                                  VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
  next_of_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const auto create =
      reinterpret_cast<PFN_vkCreateInstance>(next_of_instance(nullptr, "vkCreateInstance"));
  return create(info, memory, made);
}

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice from, const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* memory, VkDevice* made) {
  auto* link =
      link_of<VkLayerDeviceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
  const PFN_vkGetInstanceProcAddr of_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  next_of_device = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const auto create = reinterpret_cast<PFN_vkCreateDevice>(of_instance(nullptr, "vkCreateDevice"));
  const VkResult result = create(from, info, memory, made);
  if (result == VK_SUCCESS)
    next_submit = reinterpret_cast<PFN_vkQueueSubmit>(next_of_device(*made, "vkQueueSubmit"));
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, std::uint32_t count, const VkSubmitInfo* infos,
                                      VkFence fence) {
  const char* file = std::getenv("LOSING_LAYER_FILE");
  if (file != nullptr && unlink(file) == 0) is_lost = true;
  return is_lost ? VK_ERROR_DEVICE_LOST : next_submit(queue, count, infos, fence);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name) {
  if (std::strcmp(name, "vkGetDeviceProcAddr") == 0)
    return reinterpret_cast<PFN_vkVoidFunction>(device_function);
  if (std::strcmp(name, "vkQueueSubmit") == 0) return reinterpret_cast<PFN_vkVoidFunction>(submit);
  return next_of_device(device, name);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_function(VkInstance instance, const char* name) {
  if (std::strcmp(name, "vkGetInstanceProcAddr") == 0)
    return reinterpret_cast<PFN_vkVoidFunction>(instance_function);
  if (std::strcmp(name, "vkCreateInstance") == 0)
    return reinterpret_cast<PFN_vkVoidFunction>(create_instance);
  if (std::strcmp(name, "vkCreateDevice") == 0)
    return reinterpret_cast<PFN_vkVoidFunction>(create_device);
  if (std::strcmp(name, "vkGetDeviceProcAddr") == 0)
    return reinterpret_cast<PFN_vkVoidFunction>(device_function);
  return next_of_instance != nullptr ? next_of_instance(instance, name) : nullptr;
}

}  // namespace

extern "C" VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* version) {
  version->loaderLayerInterfaceVersion = 2;
  version->pfnGetInstanceProcAddr = instance_function;
  version->pfnGetDeviceProcAddr = device_function;
  version->pfnGetPhysicalDeviceProcAddr = nullptr;
  return VK_SUCCESS;
}
