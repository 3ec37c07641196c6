#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "app/commands/commands.h"
#include "app/flags/flag_parser.h"
#include "app/flags/flag_table.h"
#include "backend/backend.h"
#include "base/byte_text.h"

namespace foretoken {
namespace {

namespace json = boost::json;

std::string use_of(const DeviceFacts& device, std::size_t number) {
  const std::vector<std::string> lacks = lacking(device);
  if (!lacks.empty()) return fmt::format("cannot serve: lacks {}", fmt::join(lacks, ", "));
  if (device.is_software())
    return fmt::format("for tests: --device vulkan:{} (slower than --device cpu)", number);
  return fmt::format("serves plain models: --device vulkan:{}", number);
}

std::vector<std::string> features(const DeviceFacts& device) {
  std::vector<std::string> names;
  if (device.has_doubles) names.emplace_back("float64");
  if (device.has_halves) names.emplace_back("float16");
  if (device.has_int8_dot) names.emplace_back("int8 dot products");
  if (device.has_matrices) names.emplace_back("matrix units");
  return names;
}

std::string text_of(const DeviceFacts& d, std::size_t number) {
  return fmt::format(
      "{}  {}\n   {}, {}, Vulkan {}.{}\n   memory {:.1f} GB, {:.1f} free; subgroups of {}; {}\n"
      "   {}\n",
      number, d.name, device_kind_name(d.kind), d.driver, d.api_major, d.api_minor,
      gigabytes(d.memory_bytes), gigabytes(d.available_bytes), d.subgroup,
      fmt::join(features(d), ", "), use_of(d, number));
}

json::object json_of(const DeviceFacts& d, std::size_t number) {
  const std::vector<std::string> has = features(d), lacks = lacking(d);
  return {{"device", fmt::format("vulkan:{}", number)},
          {"name", d.name},
          {"kind", device_kind_name(d.kind)},
          {"driver", d.driver},
          {"vulkan", fmt::format("{}.{}", d.api_major, d.api_minor)},
          {"memory_bytes", d.memory_bytes},
          {"available_bytes", d.available_bytes},
          {"subgroup", d.subgroup},
          {"features", json::array(has.begin(), has.end())},
          {"lacks", json::array(lacks.begin(), lacks.end())},
          {"use", use_of(d, number)}};
}

}  // namespace

int list_devices(std::span<const std::string> args) {
  const FlagValues values = parse_flags(args, devices_flags());
  std::string reason;
  const std::vector<DeviceFacts> devices = gpu_devices(reason);
  if (values.on("--json")) {
    json::array list;
    for (std::size_t i = 0; i < devices.size(); ++i) list.push_back(json_of(devices[i], i));
    std::printf("%s\n",
                json::serialize(json::object{{"devices", list}, {"reason", reason}}).c_str());
    return 0;
  }
  for (std::size_t i = 0; i < devices.size(); ++i)
    std::fputs(text_of(devices[i], i).c_str(), stdout);
  if (devices.empty())
    std::printf("There is no Vulkan device: %s.\nThe CPU serves all models: --device cpu.\n",
                reason.c_str());
  return 0;
}

}  // namespace foretoken
