#pragma once
// Whether there is a software device of Vulkan for tests. Only that there is none skips a test: a
// device that is there and does not work fails it. For tests only.

#include <string>

#include "backend/backend.h"

namespace foretoken {

inline constexpr const char* kSoftwareDevice = "vulkan:llvmpipe";

// Empty: there is one. Else why not.
inline std::string why_no_software_device() {
  std::string reason;
  for (const DeviceFacts& device : gpu_devices(reason))
    if (device.is_software() && device.name.find("llvmpipe") != std::string::npos) return "";
  return "no software device of Vulkan: " + (reason.empty() ? "only others" : reason);
}

}  // namespace foretoken
