#include "kv/kv_dtype.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/ranges.h>

#include "base/error.h"

namespace foretoken {
namespace {

constexpr std::array<std::pair<std::string_view, DType>, 5> kNames = {{{"bf16", DType::kBF16},
                                                                       {"bfloat16", DType::kBF16},
                                                                       {"fp8_e5m2", DType::kF8E5M2},
                                                                       {"fp8_e4m3", DType::kF8E4M3},
                                                                       {"int8", DType::kI8}}};

}  // namespace

std::vector<std::string_view> kv_dtype_names() {
  std::vector<std::string_view> names = {"auto"};
  for (const auto& [name, dtype] : kNames) names.push_back(name);
  return names;
}

std::vector<std::string_view> unread_kv_dtypes() { return {"fp4_e2m1"}; }

std::optional<DType> kv_dtype_named(std::string_view name, std::string_view where) {
  if (name == "auto") return std::nullopt;
  const auto found = std::ranges::find(kNames, name, [](const auto& known) { return known.first; });
  if (found == kNames.end())
    throw Error({.what = "unknown type of the KV cache",
                 .where = std::string(where),
                 .expected = fmt::format("{}", fmt::join(kv_dtype_names(), ", ")),
                 .found = std::string(name)});
  return found->second;
}

std::string_view kv_dtype_name(DType dtype) {
  if (dtype == DType::kF8E5M2) return "fp8_e5m2";
  if (dtype == DType::kF8E4M3) return "fp8_e4m3";
  return dtype_name(dtype);
}

}  // namespace foretoken
