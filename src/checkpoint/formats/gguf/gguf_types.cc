#include "checkpoint/formats/gguf/gguf_types.h"

#include <algorithm>
#include <array>
#include <string>

#include "checkpoint/formats/gguf/gguf_blocks.h"

namespace foretoken {
namespace {

constexpr GgufTypeInfo not_read(std::uint32_t number, std::string_view name, int elements,
                                int bytes) {
  return {static_cast<GgufType>(number), name, elements, bytes, nullptr};
}

constexpr auto kTypeInfos = std::to_array<GgufTypeInfo>({
    {GgufType::kF32, "F32", 1, 4, gguf::from_f32},
    {GgufType::kF16, "F16", 1, 2, gguf::from_f16},
    {GgufType::kBF16, "BF16", 1, 2, gguf::from_bf16},
    {GgufType::kQ4_0, "Q4_0", 32, 18, gguf::from_codes},
    {GgufType::kQ4_1, "Q4_1", 32, 20, gguf::from_codes},
    {GgufType::kQ5_0, "Q5_0", 32, 22, gguf::from_codes},
    {GgufType::kQ5_1, "Q5_1", 32, 24, gguf::from_codes},
    {GgufType::kQ8_0, "Q8_0", 32, 34, gguf::from_codes},
    {GgufType::kQ2_K, "Q2_K", 256, 84, gguf::from_codes},
    {GgufType::kQ3_K, "Q3_K", 256, 110, gguf::from_codes},
    {GgufType::kQ4_K, "Q4_K", 256, 144, gguf::from_codes},
    {GgufType::kQ5_K, "Q5_K", 256, 176, gguf::from_codes},
    {GgufType::kQ6_K, "Q6_K", 256, 210, gguf::from_codes},
    {GgufType::kIQ4_NL, "IQ4_NL", 32, 18, gguf::from_codes},
    {GgufType::kIQ4_XS, "IQ4_XS", 256, 136, gguf::from_codes},
    {GgufType::kMXFP4, "MXFP4", 32, 17, gguf::from_mxfp4},
    not_read(4, "Q4_2", 0, 0),
    not_read(5, "Q4_3", 0, 0),
    not_read(9, "Q8_1", 32, 36),
    not_read(15, "Q8_K", 256, 292),
    not_read(16, "IQ2_XXS", 256, 66),
    not_read(17, "IQ2_XS", 256, 74),
    not_read(18, "IQ3_XXS", 256, 98),
    not_read(19, "IQ1_S", 256, 50),
    not_read(21, "IQ3_S", 256, 110),
    not_read(22, "IQ2_S", 256, 82),
    not_read(24, "I8", 1, 1),
    not_read(25, "I16", 1, 2),
    not_read(26, "I32", 1, 4),
    not_read(27, "I64", 1, 8),
    not_read(28, "F64", 1, 8),
    not_read(29, "IQ1_M", 256, 56),
    not_read(31, "Q4_0_4_4", 0, 0),
    not_read(32, "Q4_0_4_8", 0, 0),
    not_read(33, "Q4_0_8_8", 0, 0),
    not_read(34, "TQ1_0", 256, 54),
    not_read(35, "TQ2_0", 256, 66),
    not_read(36, "IQ4_NL_4_4", 0, 0),
    not_read(37, "IQ4_NL_4_8", 0, 0),
    not_read(38, "IQ4_NL_8_8", 0, 0),
    not_read(40, "NVFP4", 64, 36),
    not_read(41, "Q1_0", 128, 18),
    not_read(42, "Q2_0", 64, 18),
});

}  // namespace

const GgufTypeInfo* gguf_type(std::uint32_t number) {
  const auto* const found =
      std::ranges::find(kTypeInfos, static_cast<GgufType>(number), &GgufTypeInfo::type);
  return found == kTypeInfos.end() ? nullptr : &*found;
}

std::string_view gguf_types_read() {
  static const std::string names = [] {
    std::string text;
    for (const GgufTypeInfo& type : kTypeInfos)
      if (type.is_read()) text += (text.empty() ? "" : ", ") + std::string(type.name);
    return text;
  }();
  return names;
}

}  // namespace foretoken
