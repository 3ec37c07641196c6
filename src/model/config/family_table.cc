#include "model/config/family_table.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/error.h"

// One line for each family: the name of its constant in families/<name>.cc.
#define FORETOKEN_FAMILIES(FAMILY) \
  FAMILY(llama)                    \
  FAMILY(llama4)                   \
  FAMILY(llama4_towers)            \
  FAMILY(mistral)                  \
  FAMILY(qwen2)                    \
  FAMILY(qwen3)                    \
  FAMILY(mimo)                     \
  FAMILY(smollm3)                  \
  FAMILY(granite)                  \
  FAMILY(gemma2)                   \
  FAMILY(gemma3)                   \
  FAMILY(gemma3_towers)            \
  FAMILY(gemma4)                   \
  FAMILY(gemma4_towers)            \
  FAMILY(gemma4_unified)           \
  FAMILY(gemma4_unified_towers)    \
  FAMILY(phi3)                     \
  FAMILY(olmo2)                    \
  FAMILY(olmo3)                    \
  FAMILY(glm4)                     \
  FAMILY(ministral3)               \
  FAMILY(cohere)                   \
  FAMILY(cohere2)                  \
  FAMILY(seed_oss)                 \
  FAMILY(ernie4_5)                 \
  FAMILY(ernie4_5_first)           \
  FAMILY(exaone4)                  \
  FAMILY(hunyuan_dense)            \
  FAMILY(qwen2_vl)                 \
  FAMILY(qwen2_5_vl)               \
  FAMILY(qwen3_vl)                 \
  FAMILY(qwen3_vl_moe)             \
  FAMILY(internvl)                 \
  FAMILY(mistral3)                 \
  FAMILY(mixtral)                  \
  FAMILY(qwen2_moe)                \
  FAMILY(qwen3_moe)                \
  FAMILY(olmoe)                    \
  FAMILY(glm4_moe)                 \
  FAMILY(gpt_oss)                  \
  FAMILY(deepseek_v2)              \
  FAMILY(deepseek_v3)              \
  FAMILY(glm4_moe_lite)            \
  FAMILY(qwen3_next)               \
  FAMILY(qwen3_5)                  \
  FAMILY(qwen3_5_towers)           \
  FAMILY(qwen3_5_moe)              \
  FAMILY(qwen3_5_moe_towers)       \
  FAMILY(lfm2)                     \
  FAMILY(lfm2_moe)                 \
  FAMILY(lfm2_vl)                  \
  FAMILY(granite_hybrid)

namespace foretoken {

#define FORETOKEN_DECLARE(name) extern const Family name;
namespace family {
FORETOKEN_FAMILIES(FORETOKEN_DECLARE)
}  // namespace family

std::span<const Family* const> families() {
#define FORETOKEN_LIST(name) &family::name,
  static constexpr std::array kFamilies{FORETOKEN_FAMILIES(FORETOKEN_LIST)};
  return kFamilies;
}

const Family& family_of(const FileFields& fields) {
  const auto names = fields.strings("architectures");
  // Configs written for a base class name none; then the type of the model tells.
  if (!names || names->empty()) {
    const std::string type = fields.string("model_type").value_or("");
    for (const Family* family : families())
      if (type == family->model_type) return *family;
    fields.refuse_missing("architectures");
  }
  std::string supported;
  for (const Family* family : families()) {
    if (names->front() == family->architecture) return *family;
    supported += (supported.empty() ? "" : ", ") + std::string(family->architecture);
  }
  throw Error(
      {"this model architecture is not supported", fields.where(), supported, names->front()});
}

const Family* text_family_of_type(std::string_view type) {
  const auto found = std::ranges::find_if(families(), [&](const Family* family) {
    return !family->has_towers() && family->model_type == type;
  });
  return found == families().end() ? nullptr : *found;
}

}  // namespace foretoken
