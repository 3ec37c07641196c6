#include "backend/vulkan/api.h"

#include <algorithm>
#include <cstring>

#include <dlfcn.h>

#include "backend/device_lost.h"
#include "base/error.h"

namespace foretoken {
namespace {

constexpr const char* kLoader = "libvulkan.so.1";

// Stays open: drivers have threads and handlers of their own.
PFN_vkGetInstanceProcAddr open_loader() {
  void* const library = dlopen(kLoader, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw Error({.what = "Vulkan cannot be loaded",
                 .where = kLoader,
                 .expected = "Vulkan's loader and the driver of a GPU to be installed",
                 .found = dlerror()});
  void* const symbol = dlsym(library, "vkGetInstanceProcAddr");
  CHECK(symbol != nullptr) << kLoader << " without vkGetInstanceProcAddr";
  return reinterpret_cast<PFN_vkGetInstanceProcAddr>(symbol);
}

DeviceKind kind_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return DeviceKind::kDiscrete;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return DeviceKind::kIntegrated;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return DeviceKind::kVirtual;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return DeviceKind::kSoftware;
    default:
      return DeviceKind::kOther;
  }
}

}  // namespace

void check_vulkan(VkResult result, const char* what) {
  if (result >= 0) return;
  const bool no_memory = result == VK_ERROR_OUT_OF_DEVICE_MEMORY ||
                         result == VK_ERROR_OUT_OF_HOST_MEMORY ||
                         result == VK_ERROR_TOO_MANY_OBJECTS;
  const std::string code = "Vulkan's error " + std::to_string(static_cast<int>(result));
  if (result == VK_ERROR_DEVICE_LOST)
    throw DeviceLost({.what = "the device is lost", .where = what, .expected = {}, .found = code});
  throw Error({.what = no_memory ? "the device has no memory left" : "the device does not do it",
               .where = what,
               .expected = {},
               .found = code});
}

VulkanInstance::VulkanInstance() {
  const PFN_vkGetInstanceProcAddr get = get_ = open_loader();
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(get(nullptr, "vkCreateInstance"));
  CHECK(create != nullptr);
  VkApplicationInfo app{};
  app.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  app.pApplicationName = "foretoken";
  app.apiVersion = VK_API_VERSION_1_3;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &app;
  const VkResult made = create(&info, nullptr, &instance_);
  if (made == VK_ERROR_INCOMPATIBLE_DRIVER)
    throw Error({.what = "Vulkan has no driver",
                 .where = kLoader,
                 .expected = "the driver of a GPU to be installed",
                 .found = "none"});
  check_vulkan(made, "vkCreateInstance");
#define FT_LOAD(function) \
  api_.function = reinterpret_cast<PFN_##function>(get(instance_, #function));
  FT_VULKAN_INSTANCE_FUNCTIONS(FT_LOAD)
#undef FT_LOAD
  std::uint32_t count = 0;
  check_vulkan(api_.vkEnumeratePhysicalDevices(instance_, &count, nullptr),
               "vkEnumeratePhysicalDevices");
  devices_.resize(count);
  check_vulkan(api_.vkEnumeratePhysicalDevices(instance_, &count, devices_.data()),
               "vkEnumeratePhysicalDevices");
  devices_.resize(count);
}

VulkanInstance::~VulkanInstance() { api_.vkDestroyInstance(instance_, nullptr); }

bool VulkanInstance::has_extension(VkPhysicalDevice device, const char* name) const {
  std::uint32_t count = 0;
  api_.vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> all(count);
  api_.vkEnumerateDeviceExtensionProperties(device, nullptr, &count, all.data());
  return std::ranges::any_of(all, [&](const VkExtensionProperties& extension) {
    return std::strcmp(extension.extensionName, name) == 0;
  });
}

int VulkanInstance::compute_family(VkPhysicalDevice device) const {
  std::uint32_t count = 0;
  api_.vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  api_.vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  const auto found = std::ranges::find_if(families, [](const VkQueueFamilyProperties& family) {
    return (family.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0;
  });
  return found == families.end() ? -1 : static_cast<int>(found - families.begin());
}

// The largest heap of the device's own; of several drivers the budget says what is free of it.
void VulkanInstance::read_memory(VkPhysicalDevice device, DeviceFacts& facts) const {
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{};
  budget.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
  VkPhysicalDeviceMemoryProperties2 memory{};
  memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  const bool has_budget = has_extension(device, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  if (has_budget) memory.pNext = &budget;
  api_.vkGetPhysicalDeviceMemoryProperties2(device, &memory);
  for (std::uint32_t h = 0; h < memory.memoryProperties.memoryHeapCount; ++h) {
    const VkMemoryHeap& heap = memory.memoryProperties.memoryHeaps[h];
    if ((heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) == 0 || heap.size <= facts.memory_bytes)
      continue;
    facts.memory_bytes = heap.size;
    const VkDeviceSize used = has_budget ? budget.heapUsage[h] : 0;
    const VkDeviceSize most = has_budget ? budget.heapBudget[h] : heap.size;
    facts.available_bytes = most > used ? most - used : 0;
  }
}

void VulkanInstance::read_features(VkPhysicalDevice device, DeviceFacts& facts) const {
  VkPhysicalDeviceVulkan12Features features12{};
  features12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  VkPhysicalDeviceShaderIntegerDotProductFeatures dots{};
  dots.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES;
  if (facts.api_minor >= 3 ||
      has_extension(device, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME))
    features12.pNext = &dots;
  VkPhysicalDeviceFeatures2 features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = &features12;
  api_.vkGetPhysicalDeviceFeatures2(device, &features);
  facts.has_addresses = features12.bufferDeviceAddress == VK_TRUE;
  facts.has_timeline = features12.timelineSemaphore == VK_TRUE;
  facts.has_halves = features12.shaderFloat16 == VK_TRUE;
  facts.has_doubles = features.features.shaderFloat64 == VK_TRUE;
  facts.has_int8_dot = dots.shaderIntegerDotProduct == VK_TRUE;
  facts.has_matrices = has_extension(device, "VK_KHR_cooperative_matrix");
}

DeviceFacts VulkanInstance::facts(VkPhysicalDevice device) const {
  VkPhysicalDeviceSubgroupProperties subgroup{};
  subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
  VkPhysicalDeviceDriverProperties driver{};
  driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
  driver.pNext = &subgroup;
  VkPhysicalDeviceMaintenance3Properties sizes{};
  sizes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES;
  subgroup.pNext = &sizes;
  VkPhysicalDeviceProperties2 all{};
  all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  all.pNext = &driver;
  api_.vkGetPhysicalDeviceProperties2(device, &all);
  const VkPhysicalDeviceProperties& p = all.properties;
  DeviceFacts facts{.name = p.deviceName,
                    .driver = std::string(driver.driverName) + " " + driver.driverInfo,
                    .kind = kind_of(p.deviceType),
                    .api_major = static_cast<int>(VK_API_VERSION_MAJOR(p.apiVersion)),
                    .api_minor = static_cast<int>(VK_API_VERSION_MINOR(p.apiVersion)),
                    .subgroup = subgroup.subgroupSize,
                    .shared_bytes = p.limits.maxComputeSharedMemorySize,
                    .group_size = p.limits.maxComputeWorkGroupInvocations,
                    .buffer_bytes = sizes.maxMemoryAllocationSize,
                    .has_compute_queue = compute_family(device) >= 0};
  read_memory(device, facts);
  if (facts.api_major > 1 || facts.api_minor >= 2) read_features(device, facts);
  return facts;
}

std::vector<DeviceFacts> VulkanInstance::all_facts() const {
  std::vector<DeviceFacts> all;
  for (const VkPhysicalDevice device : devices_) all.push_back(facts(device));
  return all;
}

std::vector<DeviceFacts> list_vulkan_devices(std::string& reason) {
  try {
    std::vector<DeviceFacts> devices = VulkanInstance().all_facts();
    if (devices.empty()) reason = "Vulkan knows no device";
    return devices;
  } catch (const Error& error) {
    reason = error.what();
    return {};
  }
}

}  // namespace foretoken
