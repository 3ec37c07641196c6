#pragma once
// WeightFormat: how a matrix is kept and what its product does to the input. The one description of
// weights of fewer bits: `pack` chooses layout and kernels by it, loaders of weights pass it on,
// and no other code reads it. Plain data.
//
// A matrix of codes: the weight at (n, k) is (code - zero) * scale, with a scale, and perhaps a
// zero point, for each row and group of neighbouring k; codes that are floats have no zero. See
// docs/develop/numerics.md for what products of it compute.
//
// A matrix of blocks (llama.cpp's types): codes of 2 to 6 bits in groups of 16 or 32, with a scale
// of float16 and one or more of these:
//   super         the scale of a group is that of `super` k times an integer of the group
//   has_minima    the weight is code * scale + minimum; minima are kept as scales are
//   list          codes are places in kListedCodes

#include <cstdint>
#include <span>

#include "backend/listed_codes.h"
#include "tensor/tensor.h"

namespace foretoken {

struct WeightFormat {
  int bits = 0;                  // of a code: 8 or 4; 0: floats of a dtype, all below is unused
  std::int64_t group = 0;        // k that share a scale, a multiple of kGroupStep; 0: the whole row
  DType scale = DType::kF32;     // kF32, kBF16 or kF16
  bool has_zero_points = false;  // else zero() stands for 0
  bool rounds_input = false;     // to 8 bits per row and input_group(); else to bf16
  bool searches_scale =
      false;              // when floats are turned into codes: tries scales for the least error
  bool is_float = false;  // codes are E4M3 of 8 bits (tensor/float8.h), not NaN; kept as they come
  int super = 0;          // k, 256; 0: each group has a scale of its own
  bool has_minima = false;          // then there is no zero
  CodeList list = CodeList::kNone;  // of 4 bits; the same
  // Columns lie in an order of their own, in which k are neighbours of a group and products add
  // them up; see CodedRows::column_order.
  bool has_column_order = false;

  static constexpr std::int64_t kGroupStep = 32;

  bool is_coded() const { return bits > 0; }
  bool is_listed() const { return list != CodeList::kNone; }
  bool is_blocked() const {
    return is_coded() && (super > 0 || has_minima || is_listed() || (bits != 8 && bits != 4));
  }
  int zero() const {
    return is_float || has_minima || is_listed() || !is_coded() ? 0 : 1 << (bits - 1);
  }
  // k of the input that share a scale, where it is rounded; 0: the whole row.
  std::int64_t input_group() const { return super > 0 ? kGroupStep : group; }
  std::int64_t group_width(std::int64_t width) const { return group == 0 ? width : group; }
  std::int64_t groups(std::int64_t width) const {
    return group == 0 ? 1 : (width + group - 1) / group;
  }
  bool operator==(const WeightFormat&) const = default;
};

// A row of blocks. Scales and minima: of each `super` k, or of each group; exact in float16.
struct BlockRow {
  std::uint8_t* codes;                     // [width]
  float *scales, *minima;                  // minima null where there are none
  std::int8_t *multiples, *min_multiples;  // [groups], where there is a super; min_: with minima
};

// The rows of a matrix of codes: of a checkpoint, or of floats that are rounded.
// Read by several threads at a time.
class CodedRows {
 public:
  virtual ~CodedRows() = default;
  virtual std::int64_t rows() const = 0;
  virtual std::int64_t width() const = 0;
  // The column of the matrix, hence of the input, that lies at each place [width]; all of them
  // once. Empty where the format has no order: they lie as they are.
  virtual std::span<const std::int32_t> column_order() const { return {}; }
  // codes [width], scales [groups], exact in the format's type; zeros [groups] where the format has
  // zero points, else null.
  virtual void read(std::int64_t row, std::uint8_t* codes, float* scales,
                    std::uint8_t* zeros) const = 0;
  // The same of a format of blocks, instead of read().
  virtual void read_blocks(std::int64_t row, const BlockRow& to) const { (void)row, (void)to; }
};

}  // namespace foretoken
