#include "backend/vulkan/pipelines.h"

#include <array>
#include <exception>
#include <utility>
#include <vector>

#include "backend/vulkan/shader_words.h"
#include "base/error.h"
#include "base/log.h"

namespace foretoken {

Pipelines::Pipelines(Gpu& gpu, const std::string& folder)
    : gpu_(gpu), file_(folder, gpu.fingerprint() ^ spirv_sum()) {
  const std::vector<std::byte> kept = file_.read();
  VkPipelineCacheCreateInfo cache{};
  cache.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  cache.initialDataSize = kept.size();
  cache.pInitialData = kept.data();
  check_vulkan(gpu.api().vkCreatePipelineCache(gpu.device(), &cache, nullptr, &cache_),
               "vkCreatePipelineCache");
  const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, kPushBytes};
  VkPipelineLayoutCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  info.pushConstantRangeCount = 1;
  info.pPushConstantRanges = &range;
  check_vulkan(gpu.api().vkCreatePipelineLayout(gpu.device(), &info, nullptr, &layout_),
               "vkCreatePipelineLayout");
}

Pipelines::~Pipelines() {
  keep();
  gpu_.api().vkDestroyPipelineCache(gpu_.device(), cache_, nullptr);
  for (const auto& [key, made] : made_)
    gpu_.api().vkDestroyPipeline(gpu_.device(), made.pipeline, nullptr);
  gpu_.api().vkDestroyPipelineLayout(gpu_.device(), layout_, nullptr);
}

void Pipelines::step() {
  if (has_unkept_ && ++quiet_steps_ > kQuietSteps) keep();
}

void Pipelines::keep() noexcept {
  if (!std::exchange(has_unkept_, false) || file_.path().empty()) return;
  try {
    std::size_t bytes = 0;
    check_vulkan(gpu_.api().vkGetPipelineCacheData(gpu_.device(), cache_, &bytes, nullptr),
                 "vkGetPipelineCacheData");
    std::vector<std::byte> data(bytes);
    check_vulkan(gpu_.api().vkGetPipelineCacheData(gpu_.device(), cache_, &bytes, data.data()),
                 "vkGetPipelineCacheData");
    data.resize(bytes);
    file_.write(data);
  } catch (const std::exception& failure) {
    log_warning("Compiled shaders are not kept: {}.", failure.what());
  }
}

const Pipeline& Pipelines::of(Shader shader, const ShaderConstants& constants) {
  const std::span<const std::uint32_t> code = spirv_of(shader, uses_doubles_);
  const auto [place, is_new] = made_.try_emplace({code.data(), constants});
  if (is_new) {
    try {
      place->second = make(code, constants);
      has_unkept_ = true;
      quiet_steps_ = 0;
    } catch (...) {
      made_.erase(place);
      throw;
    }
  }
  return place->second;
}

Pipeline Pipelines::make(std::span<const std::uint32_t> code,
                         const ShaderConstants& constants) const {
  const VulkanApi& api = gpu_.api();
  VkShaderModuleCreateInfo module_info{};
  module_info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  module_info.codeSize = code.size_bytes();
  module_info.pCode = code.data();
  VkShaderModule module = VK_NULL_HANDLE;
  check_vulkan(api.vkCreateShaderModule(gpu_.device(), &module_info, nullptr, &module),
               "vkCreateShaderModule");
  constexpr std::uint32_t kConstants = sizeof constants / sizeof(std::uint32_t);
  std::array<VkSpecializationMapEntry, kConstants> entries{};
  for (std::uint32_t id = 0; id < kConstants; ++id)
    entries[id] = {id, static_cast<std::uint32_t>(id * sizeof(std::uint32_t)),
                   sizeof(std::uint32_t)};
  const VkSpecializationInfo special{constants.lanes == 0 ? 1 : kConstants, entries.data(),
                                     sizeof constants, &constants};
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo subgroup{};
  subgroup.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
  subgroup.requiredSubgroupSize = constants.lanes;
  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &special;
  if (constants.lanes != 0) {
    info.stage.pNext = &subgroup;
    info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
  }
  info.layout = layout_;
  Pipeline made{VK_NULL_HANDLE, layout_};
  const VkResult result =
      api.vkCreateComputePipelines(gpu_.device(), cache_, 1, &info, nullptr, &made.pipeline);
  api.vkDestroyShaderModule(gpu_.device(), module, nullptr);
  check_vulkan(result, "vkCreateComputePipelines");
  return made;
}

}  // namespace foretoken
