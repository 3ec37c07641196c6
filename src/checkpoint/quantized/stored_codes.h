#pragma once
// StoredCodes: one matrix of a checkpoint that is quantized already, taken apart: codes as bytes,
// scales as floats, zero points, whichever way they were packed. Lives while its matrix is packed
// for the backend. Throws Error naming the tensor that is missing, misshapen or not finite.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/weight_format.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/quantized/stored_quantization.h"
#include "tensor/buffer.h"

namespace foretoken {

class StoredCodes final : public CodedRows {
 public:
  // Takes the matrix `name` [rows, width]; null where the checkpoint holds it as floats. Names of
  // the tensors that belong to it are told to `took`. Rows are in the order that the source says
  // (ordered_rows.h).
  static std::optional<StoredCodes> take(const WeightSource& source,
                                         const StoredQuantization& stored, const std::string& name,
                                         std::int64_t rows, std::int64_t width,
                                         const std::function<void(const std::string&)>& took);

  // Whether it can be packed as it is; else only as floats.
  bool is_coded() const { return format_.is_coded(); }
  const WeightFormat& format() const { return format_; }
  std::int64_t rows() const override { return rows_; }
  std::int64_t width() const override { return width_; }
  std::span<const std::int32_t> column_order() const override { return order_; }
  void read(std::int64_t row, std::uint8_t* codes, float* scales,
            std::uint8_t* zeros) const override;

  // The weights as float32 [rows, width]: (code - zero) * scale.
  Buffer floats() const;

 private:
  friend class CodesReader;
  void reorder(std::span<const std::int64_t> stored_rows);

  WeightFormat format_;  // bits 0: floats that are no E4M3, or groups of unequal width
  std::int64_t rows_ = 0, width_ = 0, groups_ = 1;
  std::vector<std::uint8_t> codes_;     // [rows, width], or the bits of 8-bit floats
  std::vector<std::uint8_t> zeros_;     // [rows, groups]; empty: the middle
  std::vector<float> scales_;           // [rows, groups]
  std::vector<std::int32_t> group_of_;  // [width]; empty: in order
  std::vector<std::int32_t> order_;     // [width] columns group by group; empty: as they are
  int middle_ = 8;
  std::optional<std::array<float, 256>> float8_;  // what codes stand for that are 8-bit floats
  std::int64_t group_width_ = 0;                  // the last group may be narrower
};

}  // namespace foretoken
