#include "model/decoder/weight_reader.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

#include "base/error.h"
#include "base/index.h"
#include "base/log.h"
#include "checkpoint/packed/packed_cache.h"
#include "checkpoint/quantized/stored_codes.h"
#include "tensor/float16.h"

namespace foretoken {
namespace {

// Products of so many codes of 8 bits fit 32 bits together.
constexpr std::int64_t kMostSummed = std::int64_t{1} << 16;

float element(const Tensor& x, std::int64_t i) {
  switch (x.dtype()) {
    case DType::kBF16:
      return bf16_to_f32(x.bits16()[i]);
    case DType::kF16:
      return f16_to_f32(x.bits16()[i]);
    case DType::kF64:
      return static_cast<float>(static_cast<const double*>(x.data())[i]);
    default:
      return x.f32()[i];
  }
}

float rounded_to(DType dtype, float value) {
  if (dtype == DType::kBF16) return bf16_to_f32(f32_to_bf16(value));
  if (dtype == DType::kF16) return f16_to_f32(f32_to_f16(value));
  return value;
}

// Buffers that old checkpoints carry and that are computed from the config.
bool is_derived(const std::string& name) { return name.ends_with("rotary_emb.inv_freq"); }

// What SGLang calls by the same name whether it is stored or made while loading.
bool is_kind_of(const StoredQuantization& stored, const Quantization& asked) {
  using Kind = StoredFormat::Kind;
  return std::ranges::all_of(stored.formats(), [&](const StoredFormat& format) {
    return format.kind == Kind::kFp8
               ? asked.name == "fp8"
               : format.kind == Kind::kInt8 && format.rounds_input && asked.name == "w8a8_int8";
  });
}

// What stored codes are kept as; nothing where they become floats, of which the backend makes what
// was asked for. They stay where nothing was, but floats of 8 bits under products of float32; and
// integers where as many bits were, in their own groups: making them anew would only lose. What
// products do to their input is then as it was asked for.
std::optional<WeightFormat> kept_format(const WeightFormat& stored, const WeightFormat& asked,
                                        DType dtype) {
  if (!asked.is_coded())
    return stored.is_float && dtype == DType::kF32 ? std::nullopt : std::optional(stored);
  if (stored.is_float || asked.is_float || asked.bits != stored.bits) return std::nullopt;
  WeightFormat kept = stored;
  kept.rounds_input = asked.rounds_input;
  return kept;
}

// Tensors beside a matrix that change nothing: scales of what is not rounded, or rounded by scales
// of our own, and the shape of what has one.
bool is_harmless(std::string_view suffix) {
  constexpr std::array<std::string_view, 7> kHarmless{
      "input_scale", "activation_scale", "output_scale", "k_scale",
      "v_scale",     "kv_scale",         "weight_shape"};
  return std::ranges::find(kHarmless, suffix) != kHarmless.end();
}

bool is_zero(const Tensor& x) {
  const auto* const begin = static_cast<const std::byte*>(x.data());
  return std::all_of(begin, begin + x.bytes(), [](std::byte b) { return b == std::byte{0}; });
}

// All that decides what becomes of a matrix of one checkpoint.
std::string matrix_name(const LoadOps& ops, const std::vector<MatrixPart>& parts,
                        std::int64_t in_width, Bias bias, DType dtype, const WeightFormat& asked,
                        bool keeps_input) {
  std::string name = ops.packed_layout() + ":";
  for (const MatrixPart& part : parts) {
    name += fmt::format(" {}[{}]", part.name, part.rows);
    if (part.stored_rows > 0) name += fmt::format(" from {} of {}", part.first, part.stored_rows);
  }
  return name +
         fmt::format(" of {}{}, {}, {}", in_width, bias == Bias::kRequired ? " + bias" : "",
                     dtype_name(dtype), format_text(asked)) +
         (keeps_input ? ", input kept" : "");
}

}  // namespace

std::vector<MatrixPart> parts_of_fused(const std::string& name,
                                       const std::vector<std::int64_t>& rows) {
  const std::int64_t all = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
  std::vector<MatrixPart> parts;
  std::int64_t first = 0;
  for (const std::int64_t count : rows) {
    parts.push_back({.name = name, .rows = count, .first = first, .stored_rows = all});
    first += count;
  }
  return parts;
}

WeightReader::WeightReader(LoadOps& ops, const WeightSource& source, DType dtype,
                           const Quantization& quantization,
                           const std::optional<StoredQuantization>& stored)
    : ops_(ops), source_(source), dtype_(dtype), quantization_(quantization) {
  if (!source.names().empty()) stored_ = stored;  // made-up weights are floats
  if (stored_ && is_kind_of(*stored_, quantization)) {
    quantization_.layers = {};
    if (quantization.head_name.empty()) quantization_.head = {};
  }
}

Tensor WeightReader::take(const std::string& name, const Shape& shape) {
  const auto tensor = source_.find(name, shape);
  const std::string where = source_.where() + ", tensor " + name;
  if (!tensor) throw Error({"missing weight", where, {}, {}});
  if (!(tensor->shape() == shape))
    throw Error({"weight has the wrong shape", where, shape.str(), tensor->shape().str()});
  if (!dtype_is_float(tensor->dtype()))
    throw Error({"weight has the wrong dtype", where, "float32, bfloat16 or float16",
                 std::string(dtype_name(tensor->dtype()))});
  known_.insert(name);
  return *tensor;
}

// A vector [rows] where width is 0, else a matrix [rows, width].
Tensor WeightReader::take_part(const MatrixPart& part, const std::string& suffix,
                               std::int64_t width) {
  const std::int64_t stored = part.stored_rows > 0 ? part.stored_rows : part.rows;
  const std::string name = part.name + suffix;
  const Tensor all = width > 0 ? take(name, {stored, width}) : take(name, {stored});
  return part.stored_rows > 0 ? all.rows(part.first, part.rows) : all;
}

std::optional<WeightFormat> WeightReader::block_format(const std::string& name) const {
  if (dtype_ == DType::kF32) return std::nullopt;  // all weights are widened then
  const auto rows = source_.rows(name + ".weight");
  auto format = rows ? GgufCodes::format_of(rows->type().type) : std::nullopt;
  if (format) format->rounds_input = !quantization_.keeps_input;
  return format;
}

bool WeightReader::keeps_blocks(const std::string& name, MatrixRole role) const {
  const auto format = block_format(name);
  const WeightFormat asked = asked_format(role);
  return format && kept_format(*format, asked, dtype_).has_value();
}

std::vector<std::vector<MatrixPart>> WeightReader::alike(
    const std::vector<MatrixPart>& parts) const {
  std::vector<std::vector<MatrixPart>> stacks;
  std::optional<WeightFormat> before;
  for (const MatrixPart& part : parts) {
    const auto format = block_format(part.name);
    if (stacks.empty() || format != before) stacks.emplace_back();
    stacks.back().push_back(part);
    before = format;
  }
  return stacks;
}

WeightFormat WeightReader::asked_format(MatrixRole role) const {
  if (role == MatrixRole::kRouter) return {};
  return role == MatrixRole::kHead ? quantization_.head : quantization_.layers;
}

std::unique_ptr<PackedLinear> WeightReader::linear(const std::vector<MatrixPart>& wanted,
                                                   std::int64_t in_width, Bias bias,
                                                   MatrixRole role) {
  // A matrix of codes stays whole: its rows are those of the parts, one after the other.
  const bool stays_whole = stored_ && wanted[0].stored_rows > 0;
  const std::vector<MatrixPart> whole{{.name = wanted[0].name, .rows = wanted[0].stored_rows}};
  const std::vector<MatrixPart>& parts = stays_whole ? whole : wanted;
  for (const MatrixPart& part : parts) matrices_.insert(part.name);
  const WeightFormat asked = asked_format(role);
  Making making{.format = asked, .dtype = role == MatrixRole::kRouter ? DType::kF32 : dtype_};
  PackedCache* const cache = ops_.packed_layout().empty() ? nullptr : source_.packed();
  const std::string name = cache == nullptr ? ""
                                            : matrix_name(ops_, parts, in_width, bias, making.dtype,
                                                          asked, quantization_.keeps_input);
  const auto shape = [&] {
    LinearShape shape{
        .in_width = in_width, .has_bias = bias == Bias::kRequired, .dtype = making.dtype};
    for (const MatrixPart& part : parts) shape.rows.push_back(part.rows);
    return shape;
  };
  std::unique_ptr<PackedLinear> packed;
  if (cache != nullptr) packed = cache->take(ops_, name, shape(), making.tensors);
  if (!packed) {
    making.tensors.clear();
    packed = pack(parts, in_width, bias, making);
    if (cache != nullptr) cache->keep(name, making.format, making.tensors, *packed);
  }
  packed_bytes_ += packed->bytes();
  for (const std::string& tensor : making.tensors) {
    known_.insert(tensor);
    source_.release(tensor);
  }
  return packed;
}

// Matrices that the checkpoint keeps as codes may stay so where all of a stack are alike.
std::unique_ptr<PackedLinear> WeightReader::pack(const std::vector<MatrixPart>& parts,
                                                 std::int64_t in_width, Bias bias, Making& making) {
  std::vector<Tensor> biases;
  const auto taken_float = [&](const MatrixPart& part, const char* suffix, std::int64_t width) {
    making.tensors.push_back(part.name + suffix);
    return take_part(part, suffix, width);
  };
  for (const MatrixPart& part : parts)
    if (bias == Bias::kRequired) biases.push_back(taken_float(part, ".bias", 0));
  std::vector<std::optional<StoredCodes>> stored;
  std::vector<const CodedRows*> codes;
  std::vector<std::string> taken;
  for (const MatrixPart& part : parts) {
    stored.push_back(std::nullopt);
    if (!stored_) continue;
    stored.back() = StoredCodes::take(source_, *stored_, part.name, part.rows, in_width,
                                      [&](const std::string& name) { taken.push_back(name); });
  }
  const auto is_alike = [&](const std::optional<StoredCodes>& matrix) {
    return matrix && matrix->is_coded() && matrix->format() == stored.front()->format() &&
           std::ranges::equal(matrix->column_order(), stored.front()->column_order());
  };
  const auto blocks = block_format(parts.front().name);
  const bool are_blocks = blocks && std::ranges::all_of(parts, [&](const MatrixPart& part) {
                            return block_format(part.name) == blocks;
                          });
  const auto kept = are_blocks ? kept_format(*blocks, making.format, making.dtype)
                    : std::ranges::all_of(stored, is_alike)
                        ? kept_format(stored.front()->format(), making.format, making.dtype)
                        : std::nullopt;
  if (kept) making.format = *kept;
  const WeightFormat& format = making.format;
  if (format.is_coded() && format.rounds_input && format.group_width(in_width) > kMostSummed)
    throw Error({"the matrix is too wide for exact sums of codes",
                 source_.where() + ", tensor " + parts[0].name + ".weight",
                 "at most " + std::to_string(kMostSummed) + " columns", std::to_string(in_width)});

  std::vector<Tensor> weights;
  std::vector<Buffer> made;
  std::vector<GgufCodes> coded;
  coded.reserve(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Shape shape{parts[i].rows, in_width};
    if (kept && are_blocks) {
      coded.push_back(take_blocks(parts[i], in_width, making));
      codes.push_back(&coded.back());
    } else if (kept) {
      codes.push_back(&*stored[i]);
    } else if (stored[i]) {
      made.push_back(stored[i]->floats());
      stored[i].reset();
      weights.push_back(made.back().view(DType::kF32, shape));
    } else {
      weights.push_back(taken_float(parts[i], ".weight", in_width));
    }
  }
  for (const std::string& name : taken) source_.release(name);  // codes and floats are copies
  making.tensors.insert(making.tensors.end(), taken.begin(), taken.end());
  return ops_.pack({.weights = weights,
                    .biases = biases,
                    .dtype = making.dtype,
                    .format = format,
                    .codes = codes});
}

GgufCodes WeightReader::take_blocks(const MatrixPart& part, std::int64_t width, Making& making) {
  const std::string name = part.name + ".weight";
  const auto rows = source_.rows(name);
  const Shape wanted{part.stored_rows > 0 ? part.stored_rows : part.rows, width};
  if (!(rows->shape() == wanted))
    throw Error({"weight has the wrong shape", source_.where() + ", tensor " + name, wanted.str(),
                 rows->shape().str()});
  making.tensors.push_back(name);
  return {*rows, part.first, part.rows};
}

float FloatMatrix::at(std::int64_t row, std::int64_t column) const {
  return element(view, row * view.dim(1) + column);
}

bool WeightReader::has(const std::string& name) const {
  return std::ranges::count(source_.names(), name) > 0;
}

FloatMatrix WeightReader::floats(const std::string& name, const Shape& shape) {
  const std::int64_t width = shape[shape.rank() - 1], rows = shape.elements() / width;
  matrices_.insert(name);
  FloatMatrix matrix;
  std::vector<std::string> taken;
  const auto took = [&](const std::string& tensor) { taken.push_back(tensor); };
  if (stored_)
    if (const auto codes = StoredCodes::take(source_, *stored_, name, rows, width, took)) {
      matrix.made = codes->floats();
      matrix.view = matrix.made.view(DType::kF32, {rows, width});
      for (const std::string& tensor : taken) {
        known_.insert(tensor);
        source_.release(tensor);
      }
      return matrix;
    }
  const Tensor stored = take(name + ".weight", shape);
  matrix.view = Tensor(stored.data(), stored.dtype(), {rows, width});
  return matrix;
}

std::unique_ptr<PackedLinear> WeightReader::pack(Tensor matrix) {
  auto packed = ops_.pack({.weights = std::span(&matrix, 1), .biases = {}, .dtype = dtype_});
  packed_bytes_ += packed->bytes();
  return packed;
}

Tensor WeightReader::rows(const MatrixPart& part, std::int64_t width) {
  const std::string name = part.name + ".weight";
  const Tensor made = ops_.keep_rows(take(name, {part.rows, width}), dtype_);
  packed_bytes_ += made.bytes();
  source_.release(name);
  return made;
}

Tensor WeightReader::vector(const std::string& name, std::int64_t width, float offset) {
  return keep_vector(name, dtype_, width, offset);
}

Tensor WeightReader::exact(const std::string& name, std::int64_t width) {
  return keep_vector(name, DType::kF32, width, 0.0F);
}

float WeightReader::number(const std::string& name) {
  const Tensor tensor = take(name, {1});
  const float value = rounded_to(dtype_, element(tensor, 0));
  source_.release(name);
  return value;
}

Tensor WeightReader::keep_vector(const std::string& name, DType rounded, std::int64_t width,
                                 float offset) {
  return changed(name, {width}, {width}, [&](std::vector<float>& values) {
    for (float& value : values) value = rounded_to(rounded, value) + offset;
  });
}

Tensor WeightReader::changed(const std::string& name, const Shape& stored, const Shape& kept,
                             const std::function<void(std::vector<float>& values)>& change) {
  const Tensor tensor = take(name, stored);
  std::vector<float> values(at(tensor.elements()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = element(tensor, static_cast<std::int64_t>(i));
  change(values);
  source_.release(name);
  return keep(values, kept);
}

Tensor WeightReader::made(const std::vector<float>& values) {
  return keep(values, {static_cast<std::int64_t>(values.size())});
}

Tensor WeightReader::keep(const std::vector<float>& values, const Shape& shape) {
  const Tensor made = ops_.alloc(DType::kF32, shape);
  ops_.upload({const_cast<float*>(values.data()), DType::kF32, shape}, made);
  packed_bytes_ += made.bytes();
  return made;
}

void WeightReader::skip(const std::string& name) {
  known_.insert(name);
  matrices_.insert(name.substr(0, name.rfind('.')));
}

void WeightReader::skip_under(const std::string& prefix) {
  for (const std::string& name : source_.names())
    if (name.starts_with(prefix)) known_.insert(name);
}

// Biases and zero points of 0 are what several tools write where there are none.
void WeightReader::refuse_if_part(const std::string& tensor) const {
  const auto dot = tensor.rfind('.');
  if (!stored_ || dot == std::string::npos || !matrices_.contains(tensor.substr(0, dot)) ||
      is_harmless(std::string_view(tensor).substr(dot + 1)))
    return;
  const auto found = source_.find(tensor, {});
  if (found && !is_zero(*found))
    throw Error({"a tensor of a quantized matrix would be left unread",
                 source_.where() + ", tensor " + tensor,
                 {},
                 {}});
}

void WeightReader::finish() {
  constexpr int kShown = 5;
  std::string unknown;
  int count = 0;
  for (const std::string& name : source_.names()) {
    const bool is_known = known_.contains(name) || is_derived(name);
    if (!is_known) refuse_if_part(name);
    source_.release(name);
    if (is_known) continue;
    if (++count <= kShown) unknown += (count > 1 ? ", " : "") + name;
  }
  if (count == 0) return;
  if (count > kShown) unknown += ", ...";
  log_warning("{} tensors of the checkpoint are not used by this model: {} ({})", count, unknown,
              source_.where());
}

}  // namespace foretoken
