#pragma once
// A row of blocks (weight_format.h) with memory of its own, and the weights that it stands for.
// Plain C++, the same bits everywhere.

#include <cstdint>
#include <vector>

#include "backend/weight_format.h"

namespace foretoken {

class OwnBlockRow {
 public:
  OwnBlockRow(const WeightFormat& format, std::int64_t width);

  BlockRow view() { return row_; }
  // The scale and the minimum of a group; the products are exact.
  float scale(std::int64_t group) const;
  float minimum(std::int64_t group) const;  // 0 where there is none
  // The number that a code stands for, before the scale.
  int code(std::int64_t k) const;
  // fma(code, scale, minimum), rounded to bf16 where the format does not round its input.
  void widen(float* out) const;

 private:
  std::int64_t place(std::int64_t group) const;

  WeightFormat format_;
  std::int64_t width_;
  std::vector<std::uint8_t> codes_;
  std::vector<float> scales_, minima_;
  std::vector<std::int8_t> multiples_, min_multiples_;
  BlockRow row_;
};

}  // namespace foretoken
