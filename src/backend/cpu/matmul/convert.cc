#include "backend/cpu/matmul/convert.h"

#include <cstring>

#include "base/error.h"
#include "tensor/float16.h"

namespace foretoken {
namespace {

template <class Load>
void store_all(Load load, void* to, DType dtype, std::int64_t count) {
  if (dtype == DType::kF32) {
    for (std::int64_t i = 0; i < count; ++i) static_cast<float*>(to)[i] = load(i);
    return;
  }
  auto* bits = static_cast<std::uint16_t*>(to);
  if (dtype == DType::kBF16) {
    for (std::int64_t i = 0; i < count; ++i) bits[i] = f32_to_bf16(load(i));
    return;
  }
  CHECK(dtype == DType::kF16) << "no conversion to " << dtype_name(dtype);
  for (std::int64_t i = 0; i < count; ++i) bits[i] = f32_to_f16(load(i));
}

}  // namespace

void convert(const void* from, DType from_dtype, void* to, DType to_dtype, std::int64_t count) {
  if (from_dtype == to_dtype) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * dtype_bytes(to_dtype));
    return;
  }
  const auto* f32 = static_cast<const float*>(from);
  const auto* f64 = static_cast<const double*>(from);
  const auto* bits = static_cast<const std::uint16_t*>(from);
  switch (from_dtype) {
    case DType::kF32:
      return store_all([=](std::int64_t i) { return f32[i]; }, to, to_dtype, count);
    case DType::kF64:
      return store_all([=](std::int64_t i) { return static_cast<float>(f64[i]); }, to, to_dtype,
                       count);
    case DType::kBF16:
      return store_all([=](std::int64_t i) { return bf16_to_f32(bits[i]); }, to, to_dtype, count);
    case DType::kF16:
      return store_all([=](std::int64_t i) { return f16_to_f32(bits[i]); }, to, to_dtype, count);
    default:
      CHECK(false) << "no conversion from " << dtype_name(from_dtype);
  }
}

}  // namespace foretoken
