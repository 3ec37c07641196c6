#pragma once
// The names under which users and config.json write the float types of weights.

#include <optional>
#include <string_view>

#include "tensor/tensor.h"

namespace foretoken {

// bfloat16 (bf16), float16 (half, fp16), float32 (float, fp32); nullopt for any other name.
inline std::optional<DType> float_dtype_named(std::string_view name) {
  if (name.starts_with("torch.")) name.remove_prefix(6);
  if (name == "bfloat16" || name == "bf16") return DType::kBF16;
  if (name == "float16" || name == "half" || name == "fp16") return DType::kF16;
  if (name == "float32" || name == "float" || name == "fp32") return DType::kF32;
  return std::nullopt;
}

}  // namespace foretoken
