#pragma once
// ReferenceLinear: a matrix of the reference backend: float32 of what its product sees, codes
// widened, in plain rows. Immutable once made.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/block_row.h"
#include "backend/float_view.h"
#include "backend/quantize.h"
#include "backend/weights.h"
#include "base/index.h"

namespace foretoken {

class ReferenceLinear final : public PackedLinear {
 public:
  explicit ReferenceLinear(const LinearParts& parts) : dtype_(parts.dtype), format_(parts.format) {
    std::vector<std::unique_ptr<CodedRows>> made;
    std::vector<const CodedRows*> codes(parts.codes.begin(), parts.codes.end());
    for (const Tensor& w : parts.weights) {
      if (format_.is_coded())
        codes.push_back(made.emplace_back(std::make_unique<QuantizedRows>(w, format_)).get());
      else
        add_floats(w);
    }
    for (const CodedRows* rows : codes) add_codes(*rows);
    CHECK(parts.biases.empty() || parts.biases.size() == part_rows_.size());
    for (std::size_t p = 0; p < part_rows_.size(); ++p) {
      const bool has_bias = p < parts.biases.size() && !parts.biases[p].empty();
      for (std::int64_t i = 0; i < part_rows_[p]; ++i)
        bias_.push_back(has_bias ? load_float(parts.biases[p].data(), parts.biases[p].dtype(), i)
                                 : 0.0F);
    }
  }

  std::int64_t in_width() const override { return in_; }
  std::int64_t out_width() const override { return static_cast<std::int64_t>(bias_.size()); }
  std::size_t bytes() const override { return weight_.size() * sizeof(float); }

  const float* row(std::int64_t n) const { return weight_.data() + n * in_; }
  float bias(std::int64_t n) const { return bias_[at(n)]; }

  // What the product sees of rows of inputs: bf16 weights meet inputs rounded to bf16; codes meet
  // codes, if the format says so.
  void round(float* x) const {
    if (!format_.is_coded() || !format_.rounds_input) {
      const bool to_bf16 = format_.is_coded() || dtype_ == DType::kBF16;
      for (std::int64_t k = 0; to_bf16 && k < in_; ++k) x[k] = round_to(DType::kBF16, x[k]);
      return;
    }
    const std::int64_t wanted = format_.input_group(), group = wanted == 0 ? in_ : wanted;
    std::vector<std::int8_t> codes(at(group));
    std::vector<float> values(at(group));
    for (std::int64_t k = 0; k < in_; k += group) {
      const std::int64_t count = std::min(group, in_ - k);
      for (std::int64_t i = 0; i < count; ++i) values[at(i)] = x[column(k + i)];
      const float scale = round_input(values.data(), count, codes.data());
      for (std::int64_t i = 0; i < count; ++i)
        x[column(k + i)] = static_cast<float>(codes[at(i)]) * scale;
    }
  }

 private:
  void begin(std::int64_t rows, std::int64_t width) {
    CHECK(in_ == 0 || width == in_) << "stacked matrices of widths " << in_ << " and " << width;
    in_ = width;
    part_rows_.push_back(rows);
  }
  void add_floats(const Tensor& w) {
    begin(w.dim(0), w.dim(1));
    for (std::int64_t i = 0; i < w.elements(); ++i)
      weight_.push_back(round_to(dtype_, load_float(w.data(), w.dtype(), i)));
  }
  // Of the input, that lies at a place of a row of codes.
  std::int64_t column(std::int64_t place) const {
    return order_.empty() ? place : order_[at(place)];
  }
  void add_blocks(const CodedRows& rows) {
    OwnBlockRow row(format_, in_);
    for (std::int64_t n = 0; n < rows.rows(); ++n) {
      rows.read_blocks(n, row.view());
      weight_.resize(weight_.size() + at(in_));
      row.widen(weight_.data() + weight_.size() - at(in_));
    }
  }
  void add_codes(const CodedRows& rows) {
    begin(rows.rows(), rows.width());
    if (format_.is_blocked()) return add_blocks(rows);
    order_.assign(rows.column_order().begin(), rows.column_order().end());
    std::vector<std::uint8_t> codes(at(in_)), zeros(at(format_.groups(in_)));
    std::vector<float> scales(zeros.size()), values(at(in_));
    std::uint8_t* const given = format_.has_zero_points ? zeros.data() : nullptr;
    for (std::int64_t n = 0; n < rows.rows(); ++n) {
      rows.read(n, codes.data(), scales.data(), given);
      widen_row(format_, in_, codes.data(), scales.data(), given, values.data());
      const std::size_t first = weight_.size();
      weight_.resize(first + at(in_));
      for (std::int64_t k = 0; k < in_; ++k) weight_[first + at(column(k))] = values[at(k)];
    }
  }

  DType dtype_;
  WeightFormat format_;
  std::int64_t in_ = 0;
  std::vector<std::int64_t> part_rows_;
  std::vector<std::int32_t> order_;  // of columns, where codes have one of their own
  std::vector<float> weight_;        // [out, in]; codes as their product sees them
  std::vector<float> bias_;
};

inline const ReferenceLinear& reference(const PackedLinear& w) {
  return static_cast<const ReferenceLinear&>(w);
}

}  // namespace foretoken
