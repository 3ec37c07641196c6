#pragma once
// What a device of Vulkan is opened with. Plain data.

#include <functional>
#include <string>

namespace foretoken {

struct VulkanApi;  // api.h

struct VulkanOptions {
  std::string device;               // a value of --device that means Vulkan
  std::string cache_folder = {};    // where compiled shaders are kept; empty: nowhere
  bool wants_matrix_units = false;  // opened for products by them, where there are any
  std::function<void(VulkanApi& api)> edit = {};  // of tests: puts others in the place of functions
};

}  // namespace foretoken
