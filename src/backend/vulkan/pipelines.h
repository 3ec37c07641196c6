#pragma once
// Pipelines: the shaders of a device, compiled when they are first asked for and kept. SPIR-V is
// part of the program (tools/shaders.sh makes it), so nobody needs a compiler of shaders. One
// thread at a time.

#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "backend/vulkan/gpu.h"

namespace foretoken {

inline constexpr std::size_t kPushBytes = 128;      // of push constants, what every device has
inline constexpr std::int64_t kMostGroups = 65535;  // of a dispatch in one direction: the same

struct Pipeline {
  VkPipeline pipeline = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
};

enum class Shader : std::uint8_t {
  kAddAt,
  kAttention,
  kAttentionJoin,
  kElements,
  kGatedAct,
  kKvMove,
  kLinear,
  kLinearCodes,
  kLinearHalves,
  kLinearRounded,
  kMoveRows,
  kNorm,
  kProbe,
  kRead,
  kRopeStore,
  kRoundCodes,
  kRoundInput,
  kRows,
  kRowsCodes
};

class Pipelines {
 public:
  explicit Pipelines(Gpu& gpu);
  ~Pipelines();
  Pipelines(const Pipelines&) = delete;
  Pipelines& operator=(const Pipelines&) = delete;

  // Whether multiply-adds that are rounded once go through doubles, from now on.
  void use_doubles(bool yes) { uses_doubles_ = yes; }

  // variant: the shader's one specialization constant.
  const Pipeline& of(Shader shader, std::uint32_t variant = 0);

 private:
  Pipeline make(std::span<const std::uint32_t> code, std::uint32_t variant) const;

  Gpu& gpu_;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  bool uses_doubles_ = false;
  std::map<std::pair<const std::uint32_t*, std::uint32_t>, Pipeline> made_;  // by code and variant
};

}  // namespace foretoken
