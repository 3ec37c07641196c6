#pragma once
// Element access to tensors of any float dtype, for code that is read more than it is run: the
// reference backend, load time, tests. Rounds to nearest even as tensor/float16.h does.

#include "base/error.h"
#include "tensor/float16.h"
#include "tensor/tensor.h"

namespace foretoken {

inline float load_float(const void* data, DType dtype, std::int64_t i) {
  switch (dtype) {
    case DType::kF32:
      return static_cast<const float*>(data)[i];
    case DType::kF64:
      return static_cast<float>(static_cast<const double*>(data)[i]);
    case DType::kBF16:
      return bf16_to_f32(static_cast<const std::uint16_t*>(data)[i]);
    case DType::kF16:
      return f16_to_f32(static_cast<const std::uint16_t*>(data)[i]);
    default:
      CHECK(false) << "no floats in a tensor of " << dtype_name(dtype);
  }
  return 0.0F;
}

inline void store_float(void* data, DType dtype, std::int64_t i, float value) {
  switch (dtype) {
    case DType::kF32:
      static_cast<float*>(data)[i] = value;
      return;
    case DType::kBF16:
      static_cast<std::uint16_t*>(data)[i] = f32_to_bf16(value);
      return;
    case DType::kF16:
      static_cast<std::uint16_t*>(data)[i] = f32_to_f16(value);
      return;
    default:
      CHECK(false) << "no floats are stored as " << dtype_name(dtype);
  }
}

// The value after a trip through `dtype`.
inline float round_to(DType dtype, float value) {
  float bits = 0.0F;
  store_float(&bits, dtype, 0, value);
  return load_float(&bits, dtype, 0);
}

}  // namespace foretoken
