#include "backend/vulkan/matrix_units.h"

#include <array>
#include <vector>

namespace foretoken {
namespace {

// VK_KHR_cooperative_matrix and VK_KHR_shader_bfloat16, for headers that are older.
constexpr auto kMatrixFeatures = static_cast<VkStructureType>(1000506000);
constexpr auto kMatrixProperties = static_cast<VkStructureType>(1000506001);
constexpr auto kBf16Features = static_cast<VkStructureType>(1000141000);
constexpr std::uint32_t kHalf = 0, kFloat = 1, kInt8 = 3, kInt32 = 5, kBf16 = 1000141000;
constexpr std::uint32_t kOfSubgroup = 3;
constexpr const char *kMatrixExtension = "VK_KHR_cooperative_matrix",
                     *kBf16Extension = "VK_KHR_shader_bfloat16";

struct Product {
  VkStructureType type;
  void* next;
  std::uint32_t m, n, k;
  std::uint32_t a, b, c, result;
  VkBool32 saturates;
  std::uint32_t scope;
};
struct FeatureSwitches {
  VkStructureType type;
  void* next;
  VkBool32 first, second, third;
};

std::vector<Product> products_of(const VulkanInstance& instance, VkPhysicalDevice device) {
  using List = VkResult(VKAPI_PTR*)(VkPhysicalDevice, std::uint32_t*, Product*);
  const auto list = reinterpret_cast<List>(
      instance.function("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  if (list == nullptr) return {};
  std::uint32_t count = 0;
  if (list(device, &count, nullptr) != VK_SUCCESS) return {};
  std::vector<Product> all(count);
  for (Product& product : all) product.type = kMatrixProperties;
  if (list(device, &count, all.data()) != VK_SUCCESS) return {};
  all.resize(count);
  return all;
}

// Steps of 32 k and groups of 64 columns are whole multiples, and shared memory holds two tiles.
bool is_taken(const Product& p, std::uint32_t kind, std::uint32_t sum) {
  const auto is_some = [](std::uint32_t n) { return n == 8 || n == 16; };
  return p.a == kind && p.b == kind && p.c == sum && p.result == sum && p.saturates == VK_FALSE &&
         p.scope == kOfSubgroup && is_some(p.m) && is_some(p.n) && (is_some(p.k) || p.k == 32);
}

// The largest.
UnitShape shape_of(const std::vector<Product>& all, std::uint32_t kind, std::uint32_t sum) {
  UnitShape best;
  for (const Product& p : all)
    if (is_taken(p, kind, sum) && p.m * p.n * p.k > best.m * best.n * best.k)
      best = {p.m, p.n, p.k};
  return best;
}

std::string name_of(const char* kind, const UnitShape& shape) {
  return std::string(kind) + " " + std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" +
         std::to_string(shape.k);
}

struct Offered {
  bool fp16 = false, bf16 = false, int8 = false;
};

Offered offered(const VulkanInstance& instance, VkPhysicalDevice device, bool has_bf16) {
  FeatureSwitches bf16{kBf16Features, nullptr, 0, 0, 0};
  FeatureSwitches matrices{kMatrixFeatures, has_bf16 ? &bf16 : nullptr, 0, 0, 0};
  VkPhysicalDeviceVulkan13Features features13{};
  features13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
  features13.pNext = &matrices;
  VkPhysicalDeviceVulkan12Features features12{};
  features12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  features12.pNext = &features13;
  VkPhysicalDeviceFeatures2 all{};
  all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  all.pNext = &features12;
  instance.api().vkGetPhysicalDeviceFeatures2(device, &all);
  const bool can = matrices.first == VK_TRUE && features12.vulkanMemoryModel == VK_TRUE &&
                   features13.maintenance4 == VK_TRUE &&
                   features13.subgroupSizeControl == VK_TRUE &&
                   features13.computeFullSubgroups == VK_TRUE;
  return {.fp16 = can && features12.shaderFloat16 == VK_TRUE,
          .bf16 = can && bf16.first == VK_TRUE && bf16.third == VK_TRUE,
          .int8 = can && features12.shaderInt8 == VK_TRUE};
}

}  // namespace

std::string MatrixUnits::str() const {
  std::string all;
  if (fp16.is_there()) all = name_of("fp16", fp16);
  if (bf16.is_there()) all += (all.empty() ? "" : ", ") + name_of("bf16", bf16);
  if (int8.is_there()) all += (all.empty() ? "" : ", ") + name_of("int8", int8);
  return all;
}

MatrixUnits find_matrix_units(const VulkanInstance& instance, VkPhysicalDevice device,
                              const DeviceFacts& facts) {
  constexpr std::uint32_t kSubgroups = 4;  // of a workgroup
  const bool is_new = facts.api_major > 1 || facts.api_minor >= 3;
  if (!is_new || !facts.has_matrices || facts.subgroup * kSubgroups > facts.group_size) return {};
  const Offered can = offered(instance, device, instance.has_extension(device, kBf16Extension));
  const std::vector<Product> all = products_of(instance, device);
  MatrixUnits units{.lanes = facts.subgroup};
  if (can.fp16) units.fp16 = shape_of(all, kHalf, kFloat);
  if (can.bf16) units.bf16 = shape_of(all, kBf16, kFloat);
  if (can.int8) units.int8 = shape_of(all, kInt8, kInt32);
  return units;
}

UnitFeatures::UnitFeatures(const MatrixUnits& units)
    : is_on_(units.any()),
      has_fp16_(units.fp16.is_there()),
      has_bf16_(units.bf16.is_there()),
      has_int8_(units.int8.is_there()) {
  bf16_ = {kBf16Features, nullptr, VK_TRUE, VK_FALSE, VK_TRUE};  // the type, and in matrices
  matrices_ = {kMatrixFeatures, has_bf16_ ? &bf16_ : nullptr, VK_TRUE, VK_FALSE, VK_FALSE};
  features13_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
  features13_.pNext = &matrices_;
  features13_.maintenance4 = VK_TRUE;  // sizes of workgroups that are constants
  features13_.subgroupSizeControl = VK_TRUE;
  features13_.computeFullSubgroups = VK_TRUE;
  names_[0] = kMatrixExtension;
  names_[1] = kBf16Extension;
}

void UnitFeatures::put_into(VkDeviceCreateInfo& info,
                            VkPhysicalDeviceVulkan12Features& features12) {
  if (!is_on_) return;
  features12.vulkanMemoryModel = VK_TRUE;
  features12.shaderFloat16 = has_fp16_ ? VK_TRUE : VK_FALSE;
  features12.shaderInt8 = has_int8_ ? VK_TRUE : VK_FALSE;
  features12.pNext = &features13_;
  info.enabledExtensionCount = has_bf16_ ? 2 : 1;
  info.ppEnabledExtensionNames = names_;
}

}  // namespace foretoken
