#include "model/config/families.h"

#include <array>
#include <string>

#include "base/error.h"

// One line for each family: the name of its constant in families/<name>.cc.
#define FORETOKEN_FAMILIES(FAMILY) \
  FAMILY(llama)                    \
  FAMILY(mistral)                  \
  FAMILY(qwen2)                    \
  FAMILY(qwen3)                    \
  FAMILY(mimo)

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

}  // namespace foretoken
