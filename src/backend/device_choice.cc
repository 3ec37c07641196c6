#include "backend/device_choice.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>

#include "base/error.h"

namespace foretoken {
namespace {

constexpr std::string_view kVulkan = "vulkan";

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::optional<std::size_t> number_of(std::string_view text) {
  std::size_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

// "0 llvmpipe (software), 1 GeForce (discrete GPU, lacks buffer addresses)".
std::string listed_devices(std::span<const DeviceFacts> devices) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string lacks = joined(lacking(devices[i]));
    texts.push_back(std::to_string(i) + " " + devices[i].name + " (" +
                    std::string(device_kind_name(devices[i].kind)) +
                    (lacks.empty() ? "" : ", lacks " + lacks) + ")");
  }
  return texts.empty() ? "no Vulkan device at all" : joined(texts);
}

[[noreturn]] void refuse(std::string_view device, std::string expected, std::string found) {
  throw Error({.what = "there is no such device",
               .where = "--device " + std::string(device),
               .expected = std::move(expected),
               .found = std::move(found)});
}

// The best of the devices that `suits`; the first among equals.
template <typename Suits>
std::optional<std::size_t> best(std::span<const DeviceFacts> devices, Suits suits) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (suits(devices[i]) && (!found || devices[i].kind < devices[*found].kind)) found = i;
  return found;
}

}  // namespace

std::string_view device_kind_name(DeviceKind kind) {
  constexpr std::array<std::string_view, 5> kNames{"discrete GPU", "integrated GPU", "virtual GPU",
                                                   "other device", "software"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<std::string> lacking(const DeviceFacts& device) {
  constexpr std::uint32_t kSharedBytes = 16384, kGroupSize = 128;
  std::vector<std::string> lacks;
  const auto need = [&](bool has, const char* what) {
    if (!has) lacks.emplace_back(what);
  };
  need(device.api_major > 1 || device.api_minor >= 2, "Vulkan 1.2");
  need(device.has_compute_queue, "a compute queue");
  need(device.has_addresses, "buffer addresses");
  need(device.has_timeline, "timeline semaphores");
  need(device.shared_bytes >= kSharedBytes, "16 KB of shared memory");
  need(device.group_size >= kGroupSize, "workgroups of 128");
  return lacks;
}

bool means_vulkan(std::string_view device) {
  return device == kVulkan || device.starts_with("vulkan:");
}

std::size_t choose_device(std::string_view device, std::span<const DeviceFacts> devices) {
  CHECK(means_vulkan(device));
  const auto serves = [](const DeviceFacts& facts) { return lacking(facts).empty(); };
  if (device == kVulkan) {
    const auto found =
        best(devices, [&](const DeviceFacts& d) { return serves(d) && !d.is_software(); });
    if (!found)
      refuse(device, "a GPU with all that is needed (software devices are taken only by name)",
             listed_devices(devices));
    return *found;
  }
  const std::string_view wish = device.substr(kVulkan.size() + 1);
  if (wish.empty()) refuse(device, "a number or a part of a name after the colon", "nothing");
  if (const auto number = number_of(wish)) {
    if (*number >= devices.size())
      refuse(device, "a device of this number", listed_devices(devices));
    if (!serves(devices[*number]))
      refuse(device, "a device with all that is needed", listed_devices(devices));
    return *number;
  }
  const std::string part = lowered(wish);
  const auto named = [&](const DeviceFacts& d) {
    return lowered(d.name).find(part) != std::string::npos;
  };
  const auto found = best(devices, [&](const DeviceFacts& d) { return named(d) && serves(d); });
  if (!found)
    refuse(device, "a device with all that is needed and '" + std::string(wish) + "' in its name",
           listed_devices(devices));
  return *found;
}

}  // namespace foretoken
