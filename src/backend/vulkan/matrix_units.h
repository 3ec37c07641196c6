#pragma once
// MatrixUnits: what a device's matrix units multiply, by VK_KHR_cooperative_matrix, and what a device
// is opened with so that shaders may use them. Not whether their results are fit for use: that is
// measured (units_audit.h). Plain data and pure functions.

#include <cstdint>
#include <string>

#include "backend/vulkan/api.h"

namespace foretoken {

// Matrices [m, k] x [k, n] that are multiplied at once; m = 0: there are none.
struct UnitShape {
  std::uint32_t m = 0, n = 0, k = 0;
  bool is_there() const { return m > 0; }
};

struct MatrixUnits {
  std::uint32_t lanes = 0;         // of a subgroup
  UnitShape fp16 = {}, bf16 = {};  // with sums of float32
  UnitShape int8 = {};             // with sums of 32 bits
  bool any() const { return fp16.is_there() || bf16.is_there() || int8.is_there(); }
  std::string str() const;  // "fp16 16x16x16, bf16 16x8x16"
};

// None of what shaders/matrix_units cannot take: other shapes, no subgroups of one size.
MatrixUnits find_matrix_units(const VulkanInstance& instance, VkPhysicalDevice device,
                              const DeviceFacts& facts);

// Features and extensions for vkCreateDevice, as a chain that lives as long as this.
class UnitFeatures {
 public:
  explicit UnitFeatures(const MatrixUnits& units);
  UnitFeatures(const UnitFeatures&) = delete;
  UnitFeatures& operator=(const UnitFeatures&) = delete;

  // Puts them into `info` and behind the features of Vulkan 1.2, which end its chain.
  void put_into(VkDeviceCreateInfo& info, VkPhysicalDeviceVulkan12Features& features12);

 private:
  // As the extensions define them, for headers that are older.
  struct Switches {
    VkStructureType type;
    void* next;
    VkBool32 first, second, third;
  };
  bool is_on_, has_fp16_, has_bf16_, has_int8_;
  VkPhysicalDeviceVulkan13Features features13_{};
  Switches matrices_{}, bf16_{};
  const char* names_[2] = {};
};

}  // namespace foretoken
