#include "checkpoint/formats/gguf/gguf_rows.h"

#include <algorithm>
#include <vector>

namespace foretoken {
// Where the decoder's row lies among `rows` rows.
std::int64_t GgufRows::paired(std::int64_t row, std::int64_t rows) const {
  const std::int64_t of_head = rows / heads_;
  const std::int64_t rotated = rotated_ > 0 ? rotated_ : of_head, half = rotated / 2;
  const std::int64_t first = row / of_head * of_head, j = row % of_head;
  if (j >= rotated) return row;
  return first + (j < half ? 2 * j : 2 * (j - half) + 1);
}

std::int64_t GgufRows::stored_row(std::int64_t row) const {
  return heads_ == 0 || is_vector() ? row : paired(row, rows());
}

void GgufRows::read(std::int64_t row, float* out) const {
  if (heads_ != 0 && is_vector()) {
    read_vector(out);
  } else {
    blocks_->type->dequantize(this->row(row), width(), out);
  }
  if (offset_ != 0.0F)
    for (std::int64_t i = 0; i < width(); ++i) out[i] -= offset_;
}

// A bias: its elements are in the order of rows.
void GgufRows::read_vector(float* out) const {
  std::vector<float> stored(static_cast<std::size_t>(width()));
  blocks_->type->dequantize(blocks_->data, width(), stored.data());
  for (std::int64_t i = 0; i < width(); ++i)
    out[i] = stored[static_cast<std::size_t>(paired(i, width()))];
}

}  // namespace foretoken
