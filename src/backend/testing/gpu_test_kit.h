#pragma once
// The device of Vulkan that tests run on: a software device, or the one that the environment names
// (FORETOKEN_TEST_DEVICE, as --device takes it). Only that there is none skips a test: a device that
// is there and does not work fails it. For tests only.

#include <cstdlib>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/error.h"

namespace foretoken {

inline std::string test_device() {
  const char* named = std::getenv("FORETOKEN_TEST_DEVICE");
  return named != nullptr && *named != '\0' ? named : "vulkan:llvmpipe";
}

// Empty: it is there. Else why not.
inline std::string why_no_test_device() {
  std::string reason;
  const std::vector<DeviceFacts> devices = gpu_devices(reason);
  try {
    (void)choose_device(test_device(), devices);
    return "";
  } catch (const Error& error) {
    return reason.empty() ? error.what() : reason;
  }
}

}  // namespace foretoken
