#include "backend/vulkan/read_speed.h"

#include <algorithm>
#include <chrono>

#include "backend/vulkan/calls.h"

namespace foretoken {
namespace {

constexpr std::int64_t kBytesOfGroup = 64 * 8 * 16;  // lanes, quads of each: shaders/read.comp
constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;

}  // namespace

double read_speed(VulkanContext& context) {
  const DeviceFacts facts = context.gpu.facts_now();
  const std::int64_t wanted = facts.is_software() ? kMostBytes / 32 : kMostBytes;
  const std::int64_t room = static_cast<std::int64_t>(facts.available_bytes / 2);
  const std::int64_t groups = std::min(wanted, room) / kBytesOfGroup;
  const int times = facts.is_software() ? 1 : 16;
  if (groups == 0) return 0;
  const auto bytes = static_cast<std::size_t>(groups * kBytesOfGroup);
  const GpuBlock memory(context.gpu, bytes, MemoryUse::kDevice);
  const GpuBlock nowhere(context.gpu, 1, MemoryUse::kDevice);
  context.recorder.fill_zero(memory);
  const Pipeline& pipeline = context.pipelines.of(Shader::kRead);
  const auto read = [&](int count) {
    for (int i = 0; i < count; ++i)
      for (std::int64_t first = 0; first < groups; first += kMostGroups)
        context.recorder.dispatch(
            pipeline,
            ReadCall{memory.address(), nowhere.address(), static_cast<std::uint32_t>(first)},
            {std::min(groups - first, kMostGroups), 1});
    context.recorder.wait();
  };
  read(1);
  const auto start = std::chrono::steady_clock::now();
  read(times);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  return static_cast<double>(bytes) * times / spent.count();
}

}  // namespace foretoken
