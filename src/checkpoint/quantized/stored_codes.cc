#include "checkpoint/quantized/stored_codes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "backend/float_view.h"
#include "base/error.h"
#include "base/index.h"
#include "checkpoint/quantized/code_words.h"
#include "checkpoint/quantized/ordered_rows.h"
#include "tensor/float16.h"
#include "tensor/float8.h"

namespace foretoken {
namespace {

using FormatKind = StoredFormat::Kind;

// E5M2 is the upper half of fp16.
float float8(DType type, std::uint8_t bits) {
  return type == DType::kF8E5M2 ? f16_to_f32(static_cast<std::uint16_t>(bits << 8U))
                                : e4m3_to_f32(bits);
}

bool is_float(DType type) {
  return type == DType::kF32 || type == DType::kBF16 || type == DType::kF16;
}

}  // namespace

// Takes the tensors of one matrix, checked.
class CodesReader {
 public:
  CodesReader(const WeightSource& source, const StoredFormat& stored, std::string name,
              const std::function<void(const std::string&)>& took, StoredCodes& out)
      : source_(source),
        stored_(stored),
        name_(std::move(name)),
        took_(took),
        out_(out),
        layout_(WordLayout::low_first(stored.bits)) {
    out_.middle_ = 1 << (stored.bits - 1);
  }

  void read() {
    const std::int64_t width = out_.width_, group = stored_.group;
    out_.group_width_ = group == 0 ? width : group;
    out_.groups_ = ceil_div(width, out_.group_width_);
    DType scale = DType::kF32;
    switch (stored_.kind) {
      case FormatKind::kAwq:
        scale = read_columns(true);
        break;
      case FormatKind::kGptq:
        scale = read_columns(false);
        break;
      case FormatKind::kPacked:
        scale = read_packed();
        break;
      case FormatKind::kInt8:
        scale = read_int8();
        break;
      case FormatKind::kFp8:
        read_float8();
        return;
    }
    const auto middle = static_cast<std::uint8_t>(out_.middle_);
    if (std::ranges::all_of(out_.zeros_, [&](std::uint8_t zero) { return zero == middle; }))
      out_.zeros_.clear();
    if (!out_.group_of_.empty() && !sort_columns()) return;  // no format: only as floats
    out_.format_ = {.bits = stored_.bits,
                    .group = group,
                    .scale = scale,
                    .has_zero_points = !out_.zeros_.empty(),
                    .rounds_input = stored_.rounds_input,
                    .has_column_order = !out_.order_.empty()};
  }

 private:
  std::string at_tensor(const std::string& suffix) const {
    return source_.where() + ", tensor " + name_ + suffix;
  }
  std::optional<Tensor> find(const std::string& suffix, const Shape& shape) {
    const auto tensor = source_.find(name_ + suffix, shape);
    if (tensor) took_(name_ + suffix);
    return tensor;
  }
  Tensor need(const std::string& suffix, const Shape& shape, DType dtype) {
    const auto tensor = find(suffix, shape);
    if (!tensor) throw Error({"missing weight", at_tensor(suffix), {}, {}});
    if (!(tensor->shape() == shape))
      throw Error(
          {"weight has the wrong shape", at_tensor(suffix), shape.str(), tensor->shape().str()});
    if (tensor->dtype() != dtype)
      throw Error({"weight has the wrong dtype", at_tensor(suffix), std::string(dtype_name(dtype)),
                   std::string(dtype_name(tensor->dtype()))});
    return *tensor;
  }
  // Scales as floats of one of the given shapes.
  Tensor need_scales(const std::string& suffix, std::initializer_list<Shape> shapes) {
    const auto tensor = find(suffix, *shapes.begin());
    if (!tensor) throw Error({"missing weight", at_tensor(suffix), {}, {}});
    if (std::ranges::find(shapes, tensor->shape()) == shapes.end())
      throw Error({"weight has the wrong shape", at_tensor(suffix), shapes.begin()->str(),
                   tensor->shape().str()});
    if (!is_float(tensor->dtype()))
      throw Error({"weight has the wrong dtype", at_tensor(suffix), "float32, bfloat16 or float16",
                   std::string(dtype_name(tensor->dtype()))});
    return *tensor;
  }
  // Once the tensors are known to be of the sizes that the config asks for.
  void make_room() { out_.codes_.resize(at(out_.rows_ * out_.width_)); }
  float scale_at(const Tensor& scales, std::int64_t i, const std::string& suffix) const {
    const float scale = load_float(scales.data(), scales.dtype(), i);
    if (!std::isfinite(scale) || std::abs(scale) > 0x1p+100F)
      throw Error({"a scale of the weights is not a finite number", at_tensor(suffix), {}, {}});
    return scale;
  }

  // AWQ and GPTQ: words of columns, scales and zero points by group.
  DType read_columns(bool is_awq) {
    const std::int64_t n = out_.rows_, k = out_.width_;
    const WordLayout layout = is_awq ? WordLayout::awq() : layout_;
    const std::int64_t per_word = layout.per_word;
    if (n % per_word != 0 || (!is_awq && k % per_word != 0))
      throw Error({"the matrix does not fill whole words of codes", at_tensor(".qweight"),
                   "rows and columns in multiples of " + std::to_string(per_word),
                   Shape({n, k}).str()});
    const Tensor words = is_awq ? need(".qweight", {k, n / per_word}, DType::kI32)
                                : need(".qweight", {k / per_word, n}, DType::kI32);
    const Tensor zeros = need(".qzeros", {out_.groups_, n / per_word}, DType::kI32);
    const Tensor scales = need_scales(".scales", {{out_.groups_, n}});
    make_room();
    if (is_awq)
      unpack_awq(words, n, k, out_.codes_.data());
    else
      unpack_gptq(words, stored_.bits, n, k, out_.codes_.data());
    read_groups(layout, zeros, scales);
    if (!is_awq) read_order(".g_idx");
    return scales.dtype();
  }
  void read_groups(const WordLayout& layout, const Tensor& zeros, const Tensor& scales) {
    const std::int64_t n = out_.rows_, groups = out_.groups_, per_word = layout.per_word;
    // GPTQ's first format takes 1 from every zero point, as a subtraction of whole words: a zero
    // point of 0 borrows from the next one.
    const std::uint32_t less = !stored_.zeros_are_less_one ? 0U
                               : stored_.bits == 4         ? 0x11111111U
                                                           : 0x01010101U;
    out_.zeros_.resize(at(n * groups));
    out_.scales_.resize(at(n * groups));
    for (std::int64_t row = 0; row < n; ++row)
      for (std::int64_t g = 0; g < groups; ++g) {
        const std::uint32_t packed = word_at(zeros, (g * n + row) / per_word) + less;
        out_.zeros_[at(row * groups + g)] = layout.code(packed, row % per_word);
        out_.scales_[at(row * groups + g)] = scale_at(scales, g * n + row, ".scales");
      }
  }

  // compressed-tensors' words: rows of codes, low bits first.
  DType read_packed() {
    const std::int64_t n = out_.rows_, k = out_.width_, groups = out_.groups_;
    const std::int64_t per_word = layout_.per_word;
    const Tensor words = need(".weight_packed", {n, ceil_div(k, per_word)}, DType::kI32);
    const Tensor scales = need_scales(".weight_scale", {{n, groups}});
    make_room();
    find(".weight_shape", {2});
    unpack_compressed(words, stored_.bits, n, k, out_.codes_.data());
    for (std::int64_t i = 0; i < n * groups; ++i)
      out_.scales_.push_back(scale_at(scales, i, ".weight_scale"));
    if (!stored_.is_symmetric) {
      const Tensor zeros = need(".weight_zero_point", {ceil_div(n, per_word), groups}, DType::kI32);
      for (std::int64_t row = 0; row < n; ++row)
        for (std::int64_t g = 0; g < groups; ++g)
          out_.zeros_.push_back(
              layout_.code(word_at(zeros, row / per_word * groups + g), row % per_word));
    }
    read_order(".weight_g_idx");
    return scales.dtype();
  }

  DType read_int8() {
    const std::int64_t n = out_.rows_, k = out_.width_;
    const Tensor weight = need(".weight", {n, k}, DType::kI8);
    make_room();
    const Tensor scales = need_scales(".weight_scale", {{n, 1}, {n}, {1}, {1, 1}, {}});
    const auto* codes = static_cast<const std::int8_t*>(weight.data());
    for (std::int64_t i = 0; i < n * k; ++i)
      out_.codes_[at(i)] = static_cast<std::uint8_t>(codes[i] + 128);
    for (std::int64_t row = 0; row < n; ++row)
      out_.scales_.push_back(scale_at(scales, scales.elements() == 1 ? 0 : row, ".weight_scale"));
    return DType::kF32;
  }

  void read_float8() {
    const std::int64_t n = out_.rows_, k = out_.width_;
    const auto weight = source_.find(name_ + ".weight", {n, k});
    CHECK(weight.has_value());
    need(".weight", {n, k}, weight->dtype());
    make_room();
    const auto* bits = static_cast<const std::uint8_t*>(weight->data());
    std::array<float, 256> values;
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = float8(weight->dtype(), static_cast<std::uint8_t>(i));
    out_.float8_ = values;
    std::copy_n(bits, n * k, out_.codes_.begin());
    find(".input_scale", {1});
    const bool has_inverse = source_.find(name_ + ".weight_scale_inv", {1}).has_value();
    const std::string suffix = has_inverse ? ".weight_scale_inv" : ".weight_scale";
    const std::int64_t block_rows = stored_.block_rows > 0 ? stored_.block_rows : 1,
                       block_columns = stored_.block_columns > 0 ? stored_.block_columns : k;
    const Tensor scales =
        stored_.block_rows > 0
            ? need_scales(suffix, {{ceil_div(n, block_rows), ceil_div(k, block_columns)}})
            : need_scales(suffix, {{n, 1}, {n}, {1}, {1, 1}, {}});
    const std::int64_t row_scales = ceil_div(k, block_columns);
    out_.group_width_ = block_columns;
    out_.groups_ = row_scales;
    for (std::int64_t row = 0; row < n; ++row)
      for (std::int64_t g = 0; g < row_scales; ++g)
        out_.scales_.push_back(scale_at(
            scales, scales.elements() == 1 ? 0 : row / block_rows * row_scales + g, suffix));
    const bool has_groups = row_scales == 1 || block_columns % WeightFormat::kGroupStep == 0;
    if (weight->dtype() != DType::kF8E4M3 || !has_groups ||
        std::ranges::any_of(out_.codes_, is_nan_e4m3))
      return;  // no format: only as floats
    out_.format_ = {.bits = 8, .group = row_scales == 1 ? 0 : block_columns, .is_float = true};
  }

  // Which group each column belongs to; nothing where they are in order.
  void read_order(const std::string& suffix) {
    const std::int64_t k = out_.width_;
    const auto found = find(suffix, {k});
    if (!found) {
      if (stored_.has_g_idx) throw Error({"missing weight", at_tensor(suffix), {}, {}});
      return;
    }
    const Tensor order = need(suffix, {k}, DType::kI32);
    std::vector<std::int32_t> groups;
    bool is_in_order = true;
    for (std::int64_t i = 0; i < k; ++i) {
      groups.push_back(static_cast<std::int32_t>(word_at(order, i)));
      is_in_order = is_in_order && groups.back() == i / out_.group_width_;
      if (groups.back() < 0 || groups.back() >= out_.groups_)
        throw Error({"a column belongs to no group", at_tensor(suffix),
                     "0 to " + std::to_string(out_.groups_ - 1), std::to_string(groups.back())});
    }
    if (!is_in_order) out_.group_of_ = std::move(groups);
  }

  // Columns group by group. False where a group has more columns than another, or fewer and is not
  // the last.
  bool sort_columns() {
    std::vector<std::int32_t> order(at(out_.width_));
    std::iota(order.begin(), order.end(), 0);
    const auto group_of = [&](std::int32_t column) { return out_.group_of_[at(column)]; };
    std::ranges::stable_sort(order, {}, group_of);
    for (std::int64_t i = 0; i < out_.width_; ++i)
      if (group_of(order[at(i)]) != i / out_.group_width_) return false;
    out_.order_ = std::move(order);
    return true;
  }

  const WeightSource& source_;
  const StoredFormat& stored_;
  const std::string name_;
  const std::function<void(const std::string&)>& took_;
  StoredCodes& out_;
  const WordLayout layout_;
};

std::optional<StoredCodes> StoredCodes::take(const WeightSource& source,
                                             const StoredQuantization& stored,
                                             const std::string& name, std::int64_t rows,
                                             std::int64_t width,
                                             const std::function<void(const std::string&)>& took) {
  const StoredFormat* const format = stored.format_of(name);
  if (format == nullptr) return std::nullopt;
  const Shape shape{rows, width};
  if (format->kind == FormatKind::kInt8 || format->kind == FormatKind::kFp8) {
    const auto weight = source.find(name + ".weight", shape);
    if (!weight || is_float(weight->dtype())) return std::nullopt;
    const bool is_float8 = weight->dtype() == DType::kF8E4M3 || weight->dtype() == DType::kF8E5M2;
    if (format->kind == FormatKind::kFp8 && !is_float8)
      throw Error({"weight has the wrong dtype", source.where() + ", tensor " + name + ".weight",
                   "8-bit floats", std::string(dtype_name(weight->dtype()))});
  } else {
    const char* suffix = format->kind == FormatKind::kPacked ? ".weight_packed" : ".qweight";
    if (!source.find(name + suffix, shape)) return std::nullopt;
  }
  StoredCodes codes;
  codes.rows_ = rows;
  codes.width_ = width;
  CodesReader(source, *format, name, took, codes).read();
  if (const auto* const ordered = dynamic_cast<const OrderedRows*>(&source))
    if (const auto order = ordered->stored_rows(name, rows); !order.empty()) codes.reorder(order);
  return codes;
}

void StoredCodes::reorder(std::span<const std::int64_t> stored_rows) {
  const auto pick = [&](auto& values, std::int64_t width) {
    if (values.empty()) return;
    const auto before = values;
    for (std::int64_t row = 0; row < rows_; ++row)
      std::copy_n(&before[at(stored_rows[at(row)] * width)], width, &values[at(row * width)]);
  };
  pick(codes_, width_);
  pick(zeros_, groups_);
  pick(scales_, groups_);
}

void StoredCodes::read(std::int64_t row, std::uint8_t* codes, float* scales,
                       std::uint8_t* zeros) const {
  const std::uint8_t* const row_codes = &codes_[at(row * width_)];
  if (order_.empty())
    std::copy_n(row_codes, width_, codes);
  else
    std::ranges::transform(order_, codes, [=](std::int32_t column) { return row_codes[column]; });
  std::copy_n(&scales_[at(row * groups_)], groups_, scales);
  if (zeros != nullptr) std::copy_n(&zeros_[at(row * groups_)], groups_, zeros);
}

Buffer StoredCodes::floats() const {
  Buffer made(at(rows_ * width_) * sizeof(float));
  auto* out = static_cast<float*>(made.data());
  for (std::int64_t row = 0; row < rows_; ++row)
    for (std::int64_t k = 0; k < width_; ++k) {
      const std::int64_t g =
          row * groups_ + (group_of_.empty() ? k / group_width_ : group_of_[at(k)]);
      const std::uint8_t code = codes_[at(row * width_ + k)];
      const int zero = zeros_.empty() ? middle_ : zeros_[at(g)];
      *out++ = (float8_ ? (*float8_)[code] : static_cast<float>(code - zero)) * scales_[at(g)];
    }
  return made;
}

}  // namespace foretoken
