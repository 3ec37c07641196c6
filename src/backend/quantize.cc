#include "backend/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backend/float_view.h"
#include "base/index.h"
#include "tensor/float16.h"
#include "tensor/float8.h"

namespace foretoken {
namespace {

// The nearest integer, ties to even, of |x| < 2^22; no call, so that loops of it become vectors.
float nearest(float x) {
  constexpr float kMagic = 12582912.0F;
  return x + kMagic - kMagic;
}

float rounded_scale(DType type, float scale) {
  if (type == DType::kBF16) return bf16_to_f32(f32_to_bf16(scale));
  if (type == DType::kF16) return f16_to_f32(f32_to_f16(scale));
  return scale;
}

// What the value farthest from 0 becomes.
float last_code(const WeightFormat& format) {
  return format.is_float ? 448.0F : format.bits == 8 ? 127.0F : -8.0F;
}

// The distance of the group's values from what its codes stand for, squared.
double error_of(const float* x, std::int64_t count, float scale, float least, float most) {
  const float inverse = 1.0F / scale;
  float sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const float code = std::clamp(nearest(x[i] * inverse), least, most);
    const float off = x[i] * inverse - code;
    sum += off * off;
  }
  return static_cast<double>(sum) * scale * scale;
}

float choose_scale(const WeightFormat& format, const float* x, std::int64_t count) {
  float farthest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(x[i])) return std::numeric_limits<float>::quiet_NaN();
    if (std::abs(x[i]) > std::abs(farthest)) farthest = x[i];
  }
  const float last = last_code(format);
  const float whole =
      rounded_scale(format.scale, last < 0 ? farthest / last : std::abs(farthest) / last);
  if (std::abs(whole) < std::numeric_limits<float>::min()) return 0;
  if (!format.searches_scale || format.is_float) return whole;

  constexpr int kTries = 24;  // down to 0.64 of the whole range: more is never cut off with profit
  const float least = format.bits == 8 ? -127.0F : -8.0F, most = format.bits == 8 ? 127.0F : 7.0F;
  float best = whole;
  double best_error = error_of(x, count, whole, least, most);
  for (int i = -4; i < kTries; ++i) {
    const float scale =
        rounded_scale(format.scale, whole * (1.0F - 0.015F * static_cast<float>(i)));
    if (std::abs(scale) < std::numeric_limits<float>::min()) continue;
    const double error = error_of(x, count, scale, least, most);
    if (error >= best_error) continue;
    best = scale;
    best_error = error;
  }
  return best;
}

}  // namespace

QuantizedRows::QuantizedRows(const Tensor& matrix, const WeightFormat& format)
    : matrix_(matrix), format_(format) {
  CHECK(format.is_coded() && !format.has_zero_points);
}

void QuantizedRows::read(std::int64_t row, std::uint8_t* codes, float* scales,
                         std::uint8_t*) const {
  const std::int64_t width = matrix_.dim(1), group = format_.group_width(width);
  thread_local std::vector<float> values;
  values.resize(at(width));
  for (std::int64_t k = 0; k < width; ++k)
    values[at(k)] = load_float(matrix_.data(), matrix_.dtype(), row * width + k);
  const float least = format_.bits == 8 ? -127.0F : -8.0F, most = format_.bits == 8 ? 127.0F : 7.0F;
  for (std::int64_t g = 0; g * group < width; ++g) {
    const std::int64_t first = g * group, count = std::min(group, width - first);
    const float scale = choose_scale(format_, &values[at(first)], count);
    scales[g] = scale;
    const bool is_void = scale == 0 || std::isnan(scale);
    const float inverse = is_void ? 0.0F : 1.0F / scale;
    for (std::int64_t k = first; k < first + count; ++k) {
      const float value = is_void ? 0.0F : values[at(k)] * inverse;
      codes[k] =
          format_.is_float
              ? f32_to_e4m3(value)
              : static_cast<std::uint8_t>(
                    static_cast<int>(std::clamp(nearest(value), least, most)) + format_.zero());
    }
  }
}

void widen_row(const WeightFormat& format, std::int64_t width, const std::uint8_t* codes,
               const float* scales, const std::uint8_t* zeros, float* out) {
  const std::int64_t group = format.group_width(width);
  for (std::int64_t k = 0; k < width; ++k) {
    const std::int64_t g = k / group;
    const int zero = zeros == nullptr ? format.zero() : zeros[g];
    const float code =
        format.is_float ? e4m3_to_f32(codes[k]) : static_cast<float>(codes[k] - zero);
    const float value = code * scales[g];
    out[k] = format.rounds_input ? value : bf16_to_f32(f32_to_bf16(value));
  }
}

std::optional<float> farthest_of(const float* x, std::int64_t count) {
  float most = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(x[i])) return std::nullopt;
    most = std::max(most, std::abs(x[i]));
  }
  return most;
}

float round_input(const float* x, std::int64_t count, std::int8_t* codes) {
  std::fill_n(codes, count, std::int8_t{0});
  const std::optional<float> farthest = farthest_of(x, count);
  if (!farthest) return std::numeric_limits<float>::quiet_NaN();
  const float most = *farthest;
  if (most < kLeastInput) return 0;
  const float inverse = 127.0F / most;
  for (std::int64_t i = 0; i < count; ++i)
    codes[i] = static_cast<std::int8_t>(nearest(x[i] * inverse));
  return most / 127.0F;
}

}  // namespace foretoken
