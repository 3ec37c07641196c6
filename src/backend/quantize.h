#pragma once
// From floats to codes and back, while weights are loaded. Plain C++, the same bits everywhere.

#include <cstdint>
#include <optional>

#include "backend/weight_format.h"

namespace foretoken {

// The rows of a matrix of floats as codes: to the nearest, ties to even, with the scale that maps
// the value farthest from 0 onto the last code. Of 8 bits both signs have 127 codes, of floats of 8
// bits the last is 448; of 4 bits the farthest value becomes -8 and the scale has its sign. The
// matrix is the caller's, and it must be finite: a row that is not gets scales of NaN, which
// loaders of weights report.
class QuantizedRows final : public CodedRows {
 public:
  // format: without zero points.
  QuantizedRows(const Tensor& matrix, const WeightFormat& format);
  std::int64_t rows() const override { return matrix_.dim(0); }
  std::int64_t width() const override { return matrix_.dim(1); }
  void read(std::int64_t row, std::uint8_t* codes, float* scales,
            std::uint8_t* zeros) const override;

 private:
  Tensor matrix_;
  WeightFormat format_;
};

// (code - zero) * scale in float32, rounded to bf16 where the format does not round its input: the
// weights of a row as its product sees them. zeros: null where the format has none.
void widen_row(const WeightFormat& format, std::int64_t width, const std::uint8_t* codes,
               const float* scales, const std::uint8_t* zeros, float* out);

// The greatest magnitude of a row; nothing where a value of it is not finite.
std::optional<float> farthest_of(const float* x, std::int64_t count);

// Input of products that round it: the codes of one group, within +-127, and their scale. A group
// that is not finite has the scale NaN and codes of 0; one below kLeastInput is 0.
inline constexpr float kLeastInput = 0x1p-100F;
float round_input(const float* x, std::int64_t count, std::int8_t* codes);

}  // namespace foretoken
