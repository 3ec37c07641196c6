#pragma once
// Which Vulkan device is meant by what follows `--device vulkan`, and what a device must have.
// Pure functions of descriptions: no Vulkan here.
//
//   vulkan         the best GPU that has all that is needed; never a software device
//   vulkan:N       the N-th device of `foretoken devices`, from 0
//   vulkan:NAME    the best device whose name holds NAME, in any case; a software device, too

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

// By how much is to be expected of them.
enum class DeviceKind : std::uint8_t { kDiscrete, kIntegrated, kVirtual, kOther, kSoftware };
std::string_view device_kind_name(DeviceKind kind);

// A device as its driver describes it.
struct DeviceFacts {
  std::string name = {};
  std::string driver = {};  // with its version
  DeviceKind kind = DeviceKind::kOther;
  int api_major = 0, api_minor = 0;
  std::size_t memory_bytes = 0;     // of its own; of the host where it has none
  std::size_t available_bytes = 0;  // of them, as far as the driver says; else all
  std::uint32_t subgroup = 0, shared_bytes = 0, group_size = 0;
  std::uint64_t buffer_bytes = 0;  // of a buffer, at most
  bool has_compute_queue = false;
  bool has_addresses = false;  // of buffers, in shaders
  bool has_timeline = false;   // semaphores
  bool has_doubles = false;    // not needed where multiply-adds are fused
  bool has_halves = false, has_int8_dot = false, has_matrices = false;  // not used yet

  bool is_software() const { return kind == DeviceKind::kSoftware; }
};

// What a device would need and has not; empty: it can serve.
std::vector<std::string> lacking(const DeviceFacts& device);

// Whether a value of --device means Vulkan.
bool means_vulkan(std::string_view device);

// The place in the list of the device that `device` ("vulkan", "vulkan:N", "vulkan:NAME") means.
// Throws Error that says what was looked for and what there is.
std::size_t choose_device(std::string_view device, std::span<const DeviceFacts> devices);

}  // namespace foretoken
