#pragma once
// GgufRows: a tensor of a GGUF file as the decoder knows it: its rows in the decoder's order, each
// as the blocks that are stored or as floats. A view; the file outlives it. Thread-safe.
//
// Writers reorder rows of q and k in some families, so that pairs which are rotated together are
// neighbours. Of a head with n rows the decoder's row j is stored as
//
//   2 j              where j < n / 2
//   2 (j - n/2) + 1  otherwise
//
// Where `rotated` of these are rotated, that is their order, with rotated for n; the others stay.

#include <cstddef>
#include <cstdint>

#include "checkpoint/formats/gguf/gguf_model.h"

namespace foretoken {

class GgufRows {
 public:
  // heads: of which each has its rows in pairs; 0: rows lie as the decoder wants them.
  // offset: was added to all elements.
  // rotated: rows of a head; 0: all.
  explicit GgufRows(const GgufBlocks& blocks, std::int64_t heads = 0, float offset = 0.0F,
                    std::int64_t rotated = 0)
      : blocks_(&blocks), heads_(heads), rotated_(rotated), offset_(offset) {}

  const GgufTypeInfo& type() const { return *blocks_->type; }
  const Shape& shape() const { return blocks_->shape; }
  std::int64_t rows() const { return blocks_->rows(); }
  std::int64_t width() const { return blocks_->width(); }
  std::size_t row_bytes() const { return blocks_->row_bytes(); }
  const GgufBlocks& blocks() const { return *blocks_; }

  // The stored bytes are those of the decoder's rows, one after the other.
  bool is_plain() const { return heads_ == 0 && offset_ == 0.0F; }

  std::int64_t stored_row(std::int64_t row) const;
  // The blocks of a row, row_bytes() bytes; an offset is not taken off them.
  const std::byte* row(std::int64_t i) const { return blocks_->row(stored_row(i)); }
  // The elements of a row.
  void read(std::int64_t row, float* out) const;

 private:
  std::int64_t paired(std::int64_t row, std::int64_t rows) const;
  bool is_vector() const { return blocks_->shape.rank() == 1; }
  void read_vector(float* out) const;

  const GgufBlocks* blocks_;
  std::int64_t heads_, rotated_;
  float offset_;
};

}  // namespace foretoken
