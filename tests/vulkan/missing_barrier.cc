// Copies bytes twice without the barrier that the second copy needs, and once with it: what
// validation_test.py lets the validation layer find. Usage: missing_barrier DEVICE [with]

#include <cstdio>
#include <string>

#include "backend/vulkan/context.h"
#include "base/error.h"

int main(int argc, char** argv) {
  using namespace foretoken;
  if (argc < 2) return 2;
  VulkanOptions options{.device = argv[1]};
  if (argc < 3)
    options.edit = [](VulkanApi& api) {
      api.vkCmdPipelineBarrier = [](VkCommandBuffer, VkPipelineStageFlags, VkPipelineStageFlags,
                                    VkDependencyFlags, std::uint32_t, const VkMemoryBarrier*,
                                    std::uint32_t, const VkBufferMemoryBarrier*, std::uint32_t,
                                    const VkImageMemoryBarrier*) {};
    };
  try {
    VulkanContext context(options);
    const GpuBlock first(context.gpu, 256, MemoryUse::kDevice);
    const GpuBlock second(context.gpu, 256, MemoryUse::kDevice);
    context.recorder.fill_zero(first);
    context.recorder.copy(first.address(), second.address(), 256);
    context.recorder.wait();
    std::puts("copied");
  } catch (const Error& error) {
    std::puts(error.what());
    return 1;
  }
}
