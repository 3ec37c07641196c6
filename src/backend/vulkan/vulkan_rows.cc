#include "backend/vulkan/vulkan_rows.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/index.h"

namespace foretoken {
namespace {

constexpr std::int64_t kShaderLanes = 64;  // of a workgroup

std::uint32_t u32(std::int64_t number) { return static_cast<std::uint32_t>(number); }

}  // namespace

template <typename Call>
void VulkanRows::dispatch(Shader shader, std::uint32_t variant, const Call& call,
                          Recorder::Groups groups) {
  twin_.forget();
  context_.recorder.dispatch(context_.pipelines.of(shader, variant), call, groups);
}

void VulkanRows::norm_rows(std::uint32_t adds, const Tensor& x, const Tensor& delta,
                           const Tensor& weight, float eps, const Tensor& out) {
  const Address rounded = twin_.make(out);
  context_.recorder.dispatch(
      context_.pipelines.of(Shader::kNorm, adds),
      NormCall{address_of(x), delta.empty() ? 0 : address_of(delta), address_of(weight),
               address_of(out), rounded, u32(x.dim(1)), eps, u32(weight.elements() / x.dim(1))},
      {x.dim(0), 1});
}

void VulkanRows::each_element(std::uint32_t kind, const Tensor& x, ElementsCall call) {
  const std::int64_t groups = ceil_div(x.elements(), kShaderLanes);
  if (groups == 0) return;
  const std::int64_t across = std::min(groups, kMostGroups);
  call.count = u32(x.elements());
  call.width = u32(x.dim(1));
  dispatch(Shader::kElements, kind, call, {across, ceil_div(groups, across)});
}

void VulkanRows::look_up(Tensor table, std::span<const Token> tokens, Tensor out) {
  const std::int64_t width = table.dim(1);
  expect(out, {static_cast<std::int64_t>(tokens.size()), width}, DType::kF32);
  enum class Table : std::uint8_t { kBf16, kFloats, kF16 = 3 };  // what shaders/rows.comp reads
  const Table kind = table.dtype() == DType::kF32   ? Table::kFloats
                     : table.dtype() == DType::kF16 ? Table::kF16
                                                    : Table::kBf16;
  RowsCall call{address_of(table), 0, 0, u32(width), u32(width)};
  call.tokens = context_.recorder.send(tokens);
  call.out = address_of(out);
  dispatch(Shader::kRows, static_cast<std::uint32_t>(kind), call,
           {ceil_div(width, kShaderLanes), out.dim(0)});
}

void VulkanRows::norm(Tensor x, Tensor weight, float eps, Tensor out) {
  expect(x, {-1, weight.dim(0)}, DType::kF32);
  expect(out, {x.dim(0), x.dim(1)}, DType::kF32);
  norm_rows(0, x, {}, weight, eps, out);
}

void VulkanRows::add_norm(Tensor residual, Tensor delta, Tensor weight, float eps, Tensor out) {
  expect(residual, {-1, weight.dim(0)}, DType::kF32);
  expect(delta, {residual.dim(0), residual.dim(1)}, DType::kF32);
  expect(out, {residual.dim(0), residual.dim(1)}, DType::kF32);
  norm_rows(1, residual, delta, weight, eps, out);
}

void VulkanRows::norm_groups(Tensor x, Tensor weight, float eps) {
  const std::int64_t groups = weight.dim(0), width = weight.dim(1);
  expect(x, {-1, groups * width}, DType::kF32);
  const std::int64_t most = kMostGroups / groups;  // rows of a call
  for (std::int64_t first = 0; first < x.dim(0); first += most) {
    const std::int64_t rows = std::min(most, x.dim(0) - first);
    const Tensor apart(x.rows(first, rows).data(), DType::kF32, {rows * groups, width});
    norm_rows(0, apart, {}, weight, eps, apart);
  }
}

void VulkanRows::centre(Tensor x, Tensor out) {
  expect(out, {x.dim(0), x.dim(1)}, DType::kF32);
  if (x.dim(0) == 0) return;
  dispatch(Shader::kCentre, 0, CentreCall{address_of(x), address_of(out), u32(x.dim(1))},
           {x.dim(0), 1});
}

void VulkanRows::add(Tensor residual, Tensor delta) {
  expect(residual, {-1, -1}, DType::kF32);
  expect(delta, {residual.dim(0), residual.dim(1)}, DType::kF32);
  each_element(0, residual, {address_of(residual), address_of(delta), 0, 0, 0, 0});
}

void VulkanRows::scale(Tensor x, float factor) {
  expect(x, {-1, -1}, DType::kF32);
  each_element(1, x, {address_of(x), 0, 0, factor, 0, 0});
}

void VulkanRows::soft_cap(Tensor x, float cap) {
  expect(x, {-1, -1}, DType::kF32);
  each_element(2, x, {address_of(x), 0, 0, cap, 1.0F / cap, 0});
}

void VulkanRows::gate_rows(Tensor x, Tensor gate) {
  expect(x, {-1, -1}, DType::kF32);
  expect(gate, {x.dim(0), 1}, DType::kF32);
  each_element(3, x, {address_of(x), address_of(gate), 0, 0, 0, 0});
}

void VulkanRows::gate(Tensor x, Tensor gate, GateCurve curve) {
  expect(x, {gate.dim(0), gate.dim(1)}, DType::kF32);
  each_element(4 + static_cast<std::uint32_t>(curve), x,
               {address_of(x), address_of(gate), 0, 0, 0, 0});
}

void VulkanRows::gather_columns(Tensor x, std::span<const std::int32_t> rows, Tensor out,
                                std::int64_t column) {
  expect(x, {-1, -1}, DType::kF32);
  expect(out, {static_cast<std::int64_t>(rows.size()), -1}, DType::kF32);
  CHECK(column >= 0 && column + x.dim(1) <= out.dim(1));
  dispatch(
      Shader::kMoveRows, 0,
      MoveRowsCall{address_of(x), address_of(out), context_.recorder.send(rows), 0, u32(out.dim(0)),
                   u32(x.dim(1)), u32(x.dim(1)), u32(out.dim(1)), u32(column)},
      {ceil_div(x.dim(1), kShaderLanes), out.dim(0)});
}

void VulkanRows::copy_rows(Tensor x, std::span<const std::int32_t> from, Tensor out,
                           std::span<const std::int32_t> to) {
  expect(x, {-1, out.dim(1)}, DType::kF32);
  CHECK(from.size() == to.size());
  if (from.empty()) return;
  dispatch(Shader::kMoveRows, 1,
           MoveRowsCall{address_of(x), address_of(out), context_.recorder.send(from),
                        context_.recorder.send(to), u32(static_cast<std::int64_t>(from.size())),
                        u32(x.dim(1)), u32(x.dim(1)), u32(x.dim(1)), 0},
           {ceil_div(x.dim(1), kShaderLanes), 1});
}

void VulkanRows::join_columns(Tensor a, Tensor b, Tensor out) {
  expect(a, {out.dim(0), out.dim(1) - b.dim(1)}, DType::kF32);
  std::vector<std::int32_t> all(at(out.dim(0)));
  std::iota(all.begin(), all.end(), 0);
  gather_columns(a, all, out, 0);
  gather_columns(b, all, out, a.dim(1));
}

void VulkanRows::add_elements(Tensor x, std::span<const Addend> addends) {
  // By place, of each in the order given.
  std::vector<Addend> sorted(addends.begin(), addends.end());
  const auto place_of = [&](const Addend& a) { return u32(a.row * x.dim(1) + a.column); };
  std::ranges::stable_sort(sorted, {}, place_of);
  std::vector<std::uint32_t> places, starts;
  std::vector<float> values;
  for (const Addend& addend : sorted) {
    if (places.empty() || places.back() != place_of(addend)) {
      places.push_back(place_of(addend));
      starts.push_back(u32(static_cast<std::int64_t>(values.size())));
    }
    values.push_back(addend.value);
  }
  if (places.empty()) return;
  const auto count = static_cast<std::int64_t>(places.size());
  starts.push_back(u32(static_cast<std::int64_t>(values.size())));
  Recorder& recorder = context_.recorder;
  dispatch(
      Shader::kAddAt, 0,
      AddAtCall{address_of(x), recorder.send(std::span(places)), recorder.send(std::span(starts)),
                recorder.send(std::span(values)), u32(count)},
      {ceil_div(count, kShaderLanes), 1});
}

}  // namespace foretoken
