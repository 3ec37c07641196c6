#include "model/decoder/stacked_experts.h"

#include <charconv>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "backend/float_view.h"
#include "base/error.h"
#include "base/index.h"
#include "tensor/buffer.h"

namespace foretoken {
namespace {

constexpr std::string_view kExperts = ".experts.";
constexpr std::int64_t kBlock = 32, kBlockBytes = 17;  // of MXFP4 in a GGUF file

// Which part of a stack a name stands for.
struct Place {
  std::string stack;  // "model.layers.0.mlp.experts.gate_up_proj"
  std::int64_t expert = 0;
  std::int64_t first = 0, step = 1;  // rows of the stacked matrix
  bool is_bias = false;
};

// "..experts.7.up_proj.weight"
std::optional<Place> place_in_stack(std::string_view name) {
  const std::size_t experts = name.find(kExperts);
  if (experts == std::string_view::npos) return std::nullopt;
  const std::size_t number = experts + kExperts.size();
  Place place;
  const auto [end, error] =
      std::from_chars(name.data() + number, name.data() + name.size(), place.expert);
  if (error != std::errc() || place.expert < 0) return std::nullopt;
  const std::string_view rest = name.substr(static_cast<std::size_t>(end - name.data()));
  place.is_bias = rest.ends_with(".bias");
  const std::string prefix(name.substr(0, number));
  if (rest.starts_with(".gate_up_proj.")) {
    place.stack = prefix + "gate_up_proj";
  } else if (rest.starts_with(".gate_proj.")) {
    place.stack = prefix + "gate_up_proj";
    place.step = 2;
  } else if (rest.starts_with(".up_proj.")) {
    place.stack = prefix + "gate_up_proj";
    place.step = 2;
    place.first = 1;
  } else if (rest.starts_with(".down_proj.")) {
    place.stack = prefix + "down_proj";
  } else {
    return std::nullopt;
  }
  return place;
}

class StackedExperts final : public WeightSource {
 public:
  StackedExperts(std::unique_ptr<WeightSource> source, ExpertStacks stacks)
      : source_(std::move(source)), stacks_(stacks) {
    for (const std::string& name : source_->names()) list(name);
  }

  std::optional<Tensor> find(const std::string& name, const Shape& expected) const override {
    const auto place = place_in_stack(name);
    if (!place) return source_->find(name, expected);
    if (place->is_bias) return bias(name, *place);
    if (stacks_ == ExpertStacks::kRows) return whole_rows(name, *place);
    if (const auto blocks = rows(name)) return floats_of(name, *blocks);
    if (stacks_ == ExpertStacks::kColumnsOrRows && lies_in_rows(*place, expected))
      return part_of_rows(name, *place);
    return matrix(name, *place);
  }

  std::optional<GgufRows> rows(const std::string& name) const override {
    const auto place = place_in_stack(name);
    if (!place) return source_->rows(name);
    if (place->is_bias || stacks_ == ExpertStacks::kRows || source_->rows(name))
      return source_->rows(name);
    const auto blocks = source_->find(place->stack + "_blocks", {});
    if (!blocks) return std::nullopt;
    return GgufRows(blocks_of(name, *place, *blocks));
  }

  std::vector<std::string> names() const override { return names_; }
  std::string where() const override { return source_->where(); }
  PackedCache* packed() const override { return source_->packed(); }

  void release(const std::string& name) const override {
    const auto place = place_in_stack(name);
    if (!place) return source_->release(name);
    made_.erase(name);
    blocks_.erase(name);
    const auto parts = parts_.find(place->stack);
    if (parts == parts_.end()) return source_->release(name);  // a matrix of its own
    parts->second.erase(name);
    if (!parts->second.empty()) return;
    for (const char* suffix : {"", "_blocks", "_scales", "_bias"})
      source_->release(place->stack + suffix);
    parts_.erase(parts);
  }

 private:
  struct Blocks {
    Buffer memory;
    GgufBlocks view;
  };

  [[noreturn]] void refuse(const std::string& stack, const Tensor& found,
                           const std::string& expected) const {
    throw Error({"matrices of experts have the wrong shape", source_->where() + ", tensor " + stack,
                 expected, std::string(dtype_name(found.dtype())) + " " + found.shape().str()});
  }

  // The names that a stored one stands for.
  void list(const std::string& stored) {
    const std::size_t experts = stored.find(kExperts);
    const std::string_view kind = experts == std::string::npos
                                      ? std::string_view()
                                      : std::string_view(stored).substr(experts + kExperts.size());
    const bool is_pair = kind.starts_with("gate_up_proj"), is_down = kind.starts_with("down_proj");
    if (!is_pair && !is_down) return names_.push_back(stored);
    if (kind.ends_with("_scales")) return;
    const bool is_bias = kind.ends_with("_bias");
    const auto tensor = source_->find(stored, {});
    const std::string prefix = stored.substr(0, experts + kExperts.size());
    const std::string stack = prefix + (is_pair ? "gate_up_proj" : "down_proj");
    for (std::int64_t e = 0; e < tensor->dim(0); ++e)
      for (const char* matrix : {"gate_up_proj", "gate_proj", "up_proj", "down_proj"}) {
        const std::string_view kind_of = matrix;
        const bool is_whole = kind_of == "gate_up_proj";
        if ((kind_of == "down_proj") != is_down) continue;
        if (!is_down && is_whole != (stacks_ == ExpertStacks::kRows)) continue;
        names_.push_back(prefix + std::to_string(e) + "." + matrix +
                         (is_bias ? ".bias" : ".weight"));
        parts_[stack].insert(names_.back());
      }
  }

  Tensor keep(const std::string& name, DType dtype, const Shape& shape) const {
    Buffer& memory = made_[name];
    memory = Buffer(at(shape.elements()) * dtype_bytes(dtype));
    return memory.view(dtype, shape);
  }

  std::optional<Tensor> bias(const std::string& name, const Place& place) const {
    const auto stack = source_->find(place.stack + "_bias", {});
    if (!stack) return source_->find(name, {});
    if (stack->shape().rank() != 2 || place.expert >= stack->dim(0) ||
        stack->dim(1) % place.step != 0)
      refuse(place.stack + "_bias", *stack, "a row for each expert");
    const std::int64_t width = stack->dim(1), count = width / place.step;
    const Tensor made = keep(name, DType::kF32, {count});
    for (std::int64_t i = 0; i < count; ++i)
      made.f32()[i] = load_float(stack->data(), stack->dtype(),
                                 place.expert * width + place.first + i * place.step);
    return made;
  }

  // Rows of the file as they are.
  std::optional<Tensor> whole_rows(const std::string& name, const Place& place) const {
    const auto stack = source_->find(place.stack, {});
    if (!stack) return source_->find(name, {});
    if (stack->shape().rank() != 3 || place.expert >= stack->dim(0) ||
        !dtype_is_float(stack->dtype()))
      refuse(place.stack, *stack, "floats of three dimensions");
    const Shape shape{stack->dim(1), stack->dim(2)};
    auto* const data = static_cast<std::byte*>(stack->data());
    return Tensor(data + at(place.expert * shape.elements()) * dtype_bytes(stack->dtype()),
                  stack->dtype(), shape);
  }

  bool lies_in_rows(const Place& place, const Shape& expected) const {
    const auto stack = source_->find(place.stack, {});
    if (!stack || stack->shape().rank() != 3 || expected.rank() != 2) return false;
    return stack->dim(1) == expected[0] * place.step && stack->dim(2) == expected[1];
  }

  // Of rows of gate, then of up.
  std::optional<Tensor> part_of_rows(const std::string& name, const Place& place) const {
    const auto both = whole_rows(name, place);
    if (!both || place.step == 1) return both;
    const std::int64_t count = both->dim(0) / place.step;
    return both->rows(place.first * count, count);
  }

  // The rows of a matrix are columns in the file.
  std::optional<Tensor> matrix(const std::string& name, const Place& place) const {
    const auto stack = source_->find(place.stack, {});
    if (!stack) return source_->find(name, {});
    if (stack->shape().rank() != 3 || place.expert >= stack->dim(0) ||
        stack->dim(2) % place.step != 0 || !dtype_is_float(stack->dtype()))
      refuse(place.stack, *stack, "floats of three dimensions");
    const std::int64_t in = stack->dim(1), columns = stack->dim(2), count = columns / place.step;
    const bool is_turned = stacks_ == ExpertStacks::kTurned;
    const std::int64_t first = is_turned ? place.first : place.first * count;
    const std::int64_t step = is_turned ? place.step : 1;
    const Tensor made = keep(name, stack->dtype(), {count, in});
    const std::size_t size = dtype_bytes(stack->dtype());
    const auto* const from =
        static_cast<const std::byte*>(stack->data()) + at(place.expert * in * columns) * size;
    auto* const to = static_cast<std::byte*>(made.data());
    for (std::int64_t k = 0; k < in; ++k)
      for (std::int64_t n = 0; n < count; ++n)
        std::memcpy(to + at(n * in + k) * size, from + at(k * columns + first + n * step) * size,
                    size);
    return made;
  }

  // Each block its scale and 16 bytes, of which byte i has elements i and i + 16 where the file has
  // 2 i and 2 i + 1.
  const GgufBlocks& blocks_of(const std::string& name, const Place& place,
                              const Tensor& stack) const {
    Blocks& made = blocks_[name];
    if (made.memory.bytes() > 0) return made.view;
    const auto scales = source_->find(place.stack + "_scales", {});
    const Shape& shape = stack.shape();
    if (shape.rank() != 4 || shape[3] != kBlock / 2 || place.expert >= shape[0] ||
        shape[1] % place.step != 0 || stack.dtype() != DType::kU8)
      refuse(place.stack + "_blocks", stack, "bytes [experts, rows, groups, 16]");
    if (!scales || !(scales->shape() == Shape{shape[0], shape[1], shape[2]}) ||
        scales->dtype() != DType::kU8)
      refuse(place.stack + "_scales", scales.value_or(Tensor()), "a byte for each block");
    const std::int64_t count = shape[1] / place.step, groups = shape[2];
    made.memory = Buffer(at(count * groups * kBlockBytes));
    auto* to = static_cast<std::uint8_t*>(made.memory.data());
    const auto* const codes = static_cast<const std::uint8_t*>(stack.data());
    const auto* const exponents = static_cast<const std::uint8_t*>(scales->data());
    for (std::int64_t n = 0; n < count; ++n)
      for (std::int64_t g = 0; g < groups; ++g, to += kBlockBytes) {
        const std::int64_t row = place.expert * shape[1] + place.first + n * place.step;
        const std::uint8_t* const from = codes + (row * groups + g) * kBlock / 2;
        to[0] = exponents[row * groups + g];
        const auto code = [&](int i) { return from[i / 2] >> i % 2 * 4 & 15; };
        for (int i = 0; i < kBlock / 2; ++i)
          to[1 + i] = static_cast<std::uint8_t>(code(i) | code(i + kBlock / 2) << 4);
      }
    made.view = {.type = gguf_type(static_cast<std::uint32_t>(GgufType::kMXFP4)),
                 .shape = {count, groups * kBlock},
                 .data = static_cast<const std::byte*>(made.memory.data())};
    return made.view;
  }

  Tensor floats_of(const std::string& name, const GgufRows& rows) const {
    const Tensor made = keep(name, DType::kF32, rows.shape());
    for (std::int64_t n = 0; n < rows.rows(); ++n) rows.read(n, made.row_f32(n));
    return made;
  }

  std::unique_ptr<WeightSource> source_;
  ExpertStacks stacks_;
  std::vector<std::string> names_;
  mutable std::map<std::string, std::set<std::string>> parts_;  // of stacks, not yet released
  mutable std::map<std::string, Buffer> made_;
  mutable std::map<std::string, Blocks> blocks_;
};

}  // namespace

std::unique_ptr<WeightSource> stacked_experts(std::unique_ptr<WeightSource> source,
                                              ExpertStacks stacks) {
  // Made-up weights have any name.
  if (stacks == ExpertStacks::kNone || source->names().empty()) return source;
  return std::make_unique<StackedExperts>(std::move(source), stacks);
}

}  // namespace foretoken
