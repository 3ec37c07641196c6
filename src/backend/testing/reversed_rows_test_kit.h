#pragma once
// ReversedRows: codes of floats whose columns are taken to lie in reverse. For tests only.

#include <cstdint>
#include <span>
#include <vector>

#include "backend/quantize.h"

namespace foretoken {

class ReversedRows final : public CodedRows {
 public:
  ReversedRows(const Tensor& matrix, const WeightFormat& format) : rows_(matrix, format) {
    for (std::int64_t k = matrix.dim(1); k > 0; --k)
      order_.push_back(static_cast<std::int32_t>(k - 1));
  }
  std::int64_t rows() const override { return rows_.rows(); }
  std::int64_t width() const override { return rows_.width(); }
  std::span<const std::int32_t> column_order() const override { return order_; }
  void read(std::int64_t row, std::uint8_t* codes, float* scales,
            std::uint8_t* zeros) const override {
    rows_.read(row, codes, scales, zeros);
  }

 private:
  QuantizedRows rows_;
  std::vector<std::int32_t> order_;
};

}  // namespace foretoken
