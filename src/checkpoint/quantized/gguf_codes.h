#pragma once
// GgufCodes: rows of a GGUF tensor as codes at their own bits (backend/weight_format.h), scales and
// minima as they are stored. Not the widening to floats: that is GgufRows. A view; the file
// outlives it. Thread-safe.

#include <cstdint>
#include <optional>

#include "backend/weight_format.h"
#include "checkpoint/formats/gguf/gguf_rows.h"

namespace foretoken {

class GgufCodes final : public CodedRows {
 public:
  // The format of a type; nullopt: its elements are floats, or it is not read.
  static std::optional<WeightFormat> format_of(GgufType type);

  // `count` rows from `first` on, of a type that has a format.
  GgufCodes(const GgufRows& rows, std::int64_t first, std::int64_t count)
      : rows_(rows), first_(first), count_(count) {}

  std::int64_t rows() const override { return count_; }
  std::int64_t width() const override { return rows_.width(); }
  void read(std::int64_t row, std::uint8_t* codes, float* scales,
            std::uint8_t* zeros) const override;
  void read_blocks(std::int64_t row, const BlockRow& to) const override;

 private:
  GgufRows rows_;
  std::int64_t first_, count_;
};

}  // namespace foretoken
