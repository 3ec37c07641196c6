#include "backend/kv_codes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/quantize.h"
#include "base/error.h"
#include "tensor/float16.h"

namespace foretoken {
namespace {

constexpr int kLeastExponent = -14;  // of fp16, whose exponents the floats of 8 bits have

int mantissa_bits(DType dtype) { return dtype == DType::kF8E4M3 ? 3 : 2; }

std::uint8_t nearest_int8(float value) {
  return static_cast<std::uint8_t>(static_cast<std::int8_t>(std::nearbyint(value)));
}

// Doubles hold every step of this exactly.
std::uint8_t nearest_float8(int mantissa, float value) {
  const double magnitude = std::abs(static_cast<double>(value));
  const int exponent =
      magnitude == 0 ? kLeastExponent : std::max(std::ilogb(magnitude), kLeastExponent);
  // In units of the last place: 2^mantissa and more where the code is normal. Rounding up to the
  // next power of two carries into the exponent, as it should.
  const auto units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, mantissa - exponent)));
  const int code = units + ((exponent - kLeastExponent) << mantissa);
  return static_cast<std::uint8_t>(code | (std::signbit(value) ? 0x80 : 0));
}

}  // namespace

bool is_kv_code(DType dtype) {
  return dtype == DType::kI8 || dtype == DType::kF8E4M3 || dtype == DType::kF8E5M2;
}

float last_kv_code(DType dtype) {
  CHECK(is_kv_code(dtype)) << dtype_name(dtype);
  return dtype == DType::kI8 ? 127.0F : dtype == DType::kF8E4M3 ? 1.75F : 57344.0F;
}

float kv_code_value(DType dtype, std::uint8_t code) {
  CHECK(is_kv_code(dtype)) << dtype_name(dtype);
  if (dtype == DType::kI8) return static_cast<float>(static_cast<std::int8_t>(code));
  const unsigned magnitude = (code & 0x7fU) << (10 - mantissa_bits(dtype));
  return f16_to_f32(static_cast<std::uint16_t>(magnitude | (code & 0x80U) << 8));
}

float round_kv_row(DType dtype, const float* x, std::int64_t count, std::uint8_t* codes) {
  const float last = last_kv_code(dtype);
  std::fill_n(codes, count, std::uint8_t{0});
  const std::optional<float> farthest = farthest_of(x, count);
  if (!farthest) return std::numeric_limits<float>::quiet_NaN();
  const float most = *farthest;
  if (most < kLeastInput) return 0;
  const float inverse = last / most;
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = x[i] * inverse;
    codes[i] =
        dtype == DType::kI8 ? nearest_int8(value) : nearest_float8(mantissa_bits(dtype), value);
  }
  return most / last;
}

}  // namespace foretoken
