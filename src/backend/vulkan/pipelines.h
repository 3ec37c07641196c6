#pragma once
// Pipelines: the shaders of a device, compiled when they are first asked for and kept. SPIR-V is
// part of the program (tools/shaders.sh makes it), so nobody needs a compiler of shaders. What the
// driver made of it is kept in a file, which spares the next start the time. One thread at a time.

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "backend/vulkan/gpu.h"
#include "backend/vulkan/pipeline_file.h"

namespace foretoken {

inline constexpr std::size_t kPushBytes = 128;      // of push constants, what every device has
inline constexpr std::int64_t kMostGroups = 65535;  // of a dispatch in one direction: the same

struct Pipeline {
  VkPipeline pipeline = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
};

enum class Shader : std::uint8_t {
  kAddAt,
  kAddWeighted,
  kAttention,
  kAttentionJoin,
  kCentre,
  kElements,
  kFindTokens,
  kGatedAct,
  kGroupRows,
  kHalveRows,
  kKvMove,
  kLinear,
  kLinearChain,
  kLinearChainChosen,
  kLinearChosen,
  kLinearCodes,
  kLinearCodesChosen,
  kLinearRounded,
  kLinearRoundedChosen,
  kLinearUnits,
  kLinearUnitsBf16,
  kMoveRows,
  kNorm,
  kOrderRows,
  kProbe,
  kRead,
  kRecurAdvance,
  kRecurDecay,
  kRecurMix,
  kRecurNorm,
  kRecurRows,
  kRopeStore,
  kRoundCodes,
  kRoundInput,
  kRoundSupers,
  kRoundedUnits,
  kRoute,
  kRowTops,
  kRows,
  kRowsCodes,
  kStoreLatent,
  kTopChances
};

// Specialization constants, by id. Of shaders of matrix units: of a workgroup, of a subgroup, the
// shape of matrices, tiles of rows; else the first alone.
struct ShaderConstants {
  std::uint32_t variant = 0, group = 0, lanes = 0, m = 0, n = 0, k = 0, tiles = 0;
  auto operator<=>(const ShaderConstants&) const = default;
};

class Pipelines {
 public:
  // folder: where compiled shaders are kept; empty: nowhere.
  Pipelines(Gpu& gpu, const std::string& folder);
  ~Pipelines();
  Pipelines(const Pipelines&) = delete;
  Pipelines& operator=(const Pipelines&) = delete;

  // Whether multiply-adds that are rounded once go through doubles, from now on.
  void use_doubles(bool yes) { uses_doubles_ = yes; }

  // A step has begun: keeps what was compiled, once no step has compiled anything for a while.
  void step();
  const PipelineFile& file() const { return file_; }

  const Pipeline& of(Shader shader, std::uint32_t variant = 0) {
    return of(shader, ShaderConstants{.variant = variant});
  }
  // lanes: subgroups have that size; 0: they may have any.
  const Pipeline& of(Shader shader, const ShaderConstants& constants);

 private:
  static constexpr int kQuietSteps = 64;  // before new pipelines are kept

  void keep() noexcept;
  Pipeline make(std::span<const std::uint32_t> code, const ShaderConstants& constants) const;

  Gpu& gpu_;
  PipelineFile file_;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  int quiet_steps_ = 0;      // since the last was compiled
  bool has_unkept_ = false;  // that the file does not have
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  bool uses_doubles_ = false;
  std::map<std::pair<const std::uint32_t*, ShaderConstants>, Pipeline> made_;  // by code, too
};

}  // namespace foretoken
