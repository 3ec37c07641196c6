#include "backend/vulkan/pipelines.h"

#include "backend/vulkan/shader_words.h"
#include "base/error.h"

namespace foretoken {

Pipelines::Pipelines(Gpu& gpu) : gpu_(gpu) {
  const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, kPushBytes};
  VkPipelineLayoutCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  info.pushConstantRangeCount = 1;
  info.pPushConstantRanges = &range;
  check_vulkan(gpu.api().vkCreatePipelineLayout(gpu.device(), &info, nullptr, &layout_),
               "vkCreatePipelineLayout");
}

Pipelines::~Pipelines() {
  for (const auto& [key, made] : made_)
    gpu_.api().vkDestroyPipeline(gpu_.device(), made.pipeline, nullptr);
  gpu_.api().vkDestroyPipelineLayout(gpu_.device(), layout_, nullptr);
}

const Pipeline& Pipelines::of(Shader shader, std::uint32_t variant) {
  const std::span<const std::uint32_t> code = spirv_of(shader, uses_doubles_);
  const auto [place, is_new] = made_.try_emplace({code.data(), variant});
  if (is_new) {
    try {
      place->second = make(code, variant);
    } catch (...) {
      made_.erase(place);
      throw;
    }
  }
  return place->second;
}

Pipeline Pipelines::make(std::span<const std::uint32_t> code, std::uint32_t variant) const {
  const VulkanApi& api = gpu_.api();
  VkShaderModuleCreateInfo module_info{};
  module_info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  module_info.codeSize = code.size_bytes();
  module_info.pCode = code.data();
  VkShaderModule module = VK_NULL_HANDLE;
  check_vulkan(api.vkCreateShaderModule(gpu_.device(), &module_info, nullptr, &module),
               "vkCreateShaderModule");
  const VkSpecializationMapEntry entry{0, 0, sizeof variant};
  const VkSpecializationInfo constants{1, &entry, sizeof variant, &variant};
  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &constants;
  info.layout = layout_;
  Pipeline made{VK_NULL_HANDLE, layout_};
  const VkResult result = api.vkCreateComputePipelines(gpu_.device(), VK_NULL_HANDLE, 1, &info,
                                                       nullptr, &made.pipeline);
  api.vkDestroyShaderModule(gpu_.device(), module, nullptr);
  check_vulkan(result, "vkCreateComputePipelines");
  return made;
}

}  // namespace foretoken
