#include "backend/vulkan/vulkan_products.h"

#include <algorithm>

#include "backend/vulkan/calls.h"
#include "base/index.h"

namespace foretoken {
namespace {

constexpr std::int64_t kLanesOfRows = 64;  // of a workgroup of the shaders that go through rows

std::uint32_t word(std::int64_t number) { return static_cast<std::uint32_t>(number); }

// Rows of a workgroup; none of the numbers depends on how many.
std::int64_t tile_of(std::int64_t rows) { return rows > 4 ? 8 : rows > 2 ? 4 : rows; }

// Calls for all columns, of which a workgroup takes `each`: a call takes as many as a device lets
// it.
template <typename Call>
void dispatch_columns(Recorder& recorder, const Pipeline& pipeline, Call call,
                      std::int64_t each = VulkanLinear::kColumns) {
  const std::int64_t groups = ceil_div(std::int64_t{call.columns}, each);
  const std::int64_t rows = ceil_div(std::int64_t{call.rows}, tile_of(call.rows));
  for (std::int64_t first = 0; first < groups; first += kMostGroups) {
    call.first = word(first);
    recorder.dispatch(pipeline, call, {rows, std::min(groups - first, kMostGroups)});
  }
}

}  // namespace

void VulkanProducts::linear(const VulkanLinear& w, const Tensor& x, const Tensor& y) {
  if (x.dim(0) == 0) return;
  if (w.codes() != nullptr)
    multiply_codes(w, x, y);
  else if (w.dtype() == DType::kF16)
    multiply_halves(w, x, y);
  else
    multiply(w, x, y);
}

// The input as blocks of bf16, in the order of the weights' columns.
Address VulkanProducts::rounded(const VulkanLinear& w, const Tensor& x) {
  const Address order = w.codes() == nullptr ? 0 : w.codes()->order();
  if (const Address made = twin_.of(x); made != 0 && order == 0) return made;
  const std::int64_t rows = x.dim(0), pairs = w.padded_width() / 2;
  const Tensor to = scratch_.alloc(DType::kI32, {rows, pairs});
  twin_.forget();
  context_.recorder.dispatch(context_.pipelines.of(Shader::kRoundInput),
                             RoundCall{address_of(x), address_of(to), order, word(w.in_width()),
                                       word(pairs), order == 0 ? 0U : 1U},
                             {ceil_div(pairs, kLanesOfRows), rows});
  return address_of(to);
}

VulkanProducts::InputCodes VulkanProducts::round_to_codes(const VulkanCodes& w, const Tensor& x) {
  const std::int64_t rows = x.dim(0), blocks = w.blocks();
  const std::int64_t groups = ceil_div(blocks * VulkanCodes::kBlock, w.group());
  const Tensor codes = scratch_.alloc(DType::kI8, {rows, blocks * VulkanCodes::kBlock});
  const Tensor scales = scratch_.alloc(DType::kF32, {rows, groups});
  const Tensor sums = scratch_.alloc(DType::kI32, {rows, groups});
  const InputCodes made{address_of(codes), address_of(scales), address_of(sums)};
  twin_.forget();
  context_.recorder.dispatch(
      context_.pipelines.of(Shader::kRoundCodes),
      RoundCodesCall{address_of(x), made.codes, made.scales, made.sums, w.order(), word(x.dim(1)),
                     word(blocks), word(w.group()), word(groups), w.order() == 0 ? 0U : 1U},
      {groups, rows});
  return made;
}

void VulkanProducts::multiply(const VulkanLinear& w, const Tensor& x, const Tensor& y) {
  const Address input = rounded(w, x);
  twin_.written(y);
  dispatch_columns(context_.recorder,
                   context_.pipelines.of(Shader::kLinear, word(tile_of(x.dim(0)))),
                   LinearCall{w.weights(), input, w.bias(), address_of(y),
                              word(w.padded_width() / VulkanLinear::kBlock), word(w.out_width()),
                              word(x.dim(0)), w.bias() == 0 ? 0U : 1U, 0});
}

void VulkanProducts::multiply_halves(const VulkanLinear& w, const Tensor& x, const Tensor& y) {
  twin_.written(y);
  dispatch_columns(
      context_.recorder, context_.pipelines.of(Shader::kLinearHalves, word(tile_of(x.dim(0)))),
      LinearHalvesCall{w.weights(), address_of(x), w.bias(), address_of(y), word(w.in_width()),
                       word(w.out_width()), word(x.dim(0)), w.bias() == 0 ? 0U : 1U, 0},
      VulkanLinear::kColumnsOfHalves);
}

void VulkanProducts::multiply_codes(const VulkanLinear& w, const Tensor& x, const Tensor& y) {
  const VulkanCodes& codes = *w.codes();
  const std::uint32_t kind = codes.kind(tile_of(x.dim(0)));
  const std::uint32_t blocks = word(codes.blocks()), columns = word(w.out_width()),
                      rows = word(x.dim(0)), has_bias = w.bias() == 0 ? 0U : 1U,
                      per_scale = word(codes.blocks_per_scale());
  if (codes.format().rounds_input) {
    const InputCodes input = round_to_codes(codes, x);
    twin_.written(y);
    dispatch_columns(
        context_.recorder, context_.pipelines.of(Shader::kLinearRounded, kind),
        LinearRoundedCall{codes.place(), input.codes, w.bias(), address_of(y), input.scales,
                          input.sums, blocks, columns, rows, has_bias, 0, per_scale});
    return;
  }
  const Address input = rounded(w, x);
  twin_.written(y);
  dispatch_columns(context_.recorder, context_.pipelines.of(Shader::kLinearCodes, kind),
                   LinearCodesCall{codes.place(), input, w.bias(), address_of(y), blocks, columns,
                                   rows, has_bias, 0, per_scale});
}

void VulkanProducts::rows(const VulkanLinear& w, std::span<const Token> tokens, const Tensor& out) {
  twin_.forget();
  const Address sent = context_.recorder.send(tokens);
  const Recorder::Groups groups{ceil_div(out.dim(1), kLanesOfRows), out.dim(0)};
  if (w.codes() == nullptr) {
    const std::uint32_t kind = w.dtype() == DType::kF16 ? 4 : 2;  // KIND of shaders/rows.comp
    context_.recorder.dispatch(
        context_.pipelines.of(Shader::kRows, kind),
        RowsCall{w.weights(), sent, address_of(out), word(w.in_width()), word(w.padded_width())},
        groups);
    return;
  }
  const VulkanCodes& codes = *w.codes();
  context_.recorder.dispatch(
      context_.pipelines.of(Shader::kRowsCodes, codes.kind(1)),
      RowsCodesCall{codes.place(), codes.order(), sent, address_of(out), word(w.in_width()),
                    word(codes.blocks()), word(codes.blocks_per_scale()),
                    codes.order() == 0 ? 0U : 1U},
      groups);
}

}  // namespace foretoken
