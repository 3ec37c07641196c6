#pragma once
// The compiled shaders: what tools/shaders.sh made of shaders/*.comp. Constant data.

#include <cstdint>
#include <span>

#include "backend/vulkan/pipelines.h"

namespace foretoken {

// doubles: of the two forms that shaders with multiply-adds rounded once have.
std::span<const std::uint32_t> spirv_of(Shader shader, bool doubles);
// A checksum of all of them.
std::uint64_t spirv_sum();

}  // namespace foretoken
