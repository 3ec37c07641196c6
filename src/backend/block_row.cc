#include "backend/block_row.h"

#include <algorithm>
#include <cmath>

#include "base/index.h"
#include "tensor/float16.h"

namespace foretoken {

OwnBlockRow::OwnBlockRow(const WeightFormat& format, std::int64_t width)
    : format_(format), width_(width), codes_(at(width)) {
  const std::int64_t groups = format.groups(width);
  scales_.resize(at(format.super > 0 ? ceil_div(width, std::int64_t{format.super}) : groups));
  if (format.has_minima) minima_.resize(scales_.size());
  if (format.super > 0) multiples_.resize(at(groups));
  if (format.super > 0 && format.has_minima) min_multiples_.resize(at(groups));
  row_ = {.codes = codes_.data(),
          .scales = scales_.data(),
          .minima = format.has_minima ? minima_.data() : nullptr,
          .multiples = multiples_.data(),
          .min_multiples = min_multiples_.data()};
}

std::int64_t OwnBlockRow::place(std::int64_t group) const {
  return format_.super > 0 ? group * format_.group / format_.super : group;
}

float OwnBlockRow::scale(std::int64_t group) const {
  const float scale = scales_[at(place(group))];
  return format_.super > 0 ? scale * static_cast<float>(multiples_[at(group)]) : scale;
}

float OwnBlockRow::minimum(std::int64_t group) const {
  if (!format_.has_minima) return 0.0F;
  const float minimum = minima_[at(place(group))];
  return format_.super > 0 ? minimum * static_cast<float>(min_multiples_[at(group)]) : minimum;
}

int OwnBlockRow::code(std::int64_t k) const {
  const std::uint8_t code = codes_[at(k)];
  switch (format_.list) {
    case CodeList::kIq4Nl:
      return kListedCodes<CodeList::kIq4Nl>[code];
    case CodeList::kE2M1:
      return kListedCodes<CodeList::kE2M1>[code];
    case CodeList::kNone:
      break;
  }
  return code - format_.zero();
}

void OwnBlockRow::widen(float* out) const {
  for (std::int64_t g = 0; g * format_.group < width_; ++g) {
    const float s = scale(g), m = minimum(g);
    for (std::int64_t k = g * format_.group; k < std::min((g + 1) * format_.group, width_); ++k) {
      const float value = std::fma(static_cast<float>(code(k)), s, m);
      out[k] = format_.rounds_input ? value : bf16_to_f32(f32_to_bf16(value));
    }
  }
}

}  // namespace foretoken
