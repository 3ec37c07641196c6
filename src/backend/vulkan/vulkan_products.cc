#include "backend/vulkan/vulkan_products.h"

#include <algorithm>

#include "backend/vulkan/calls.h"
#include "base/error.h"
#include "base/index.h"

namespace foretoken {
namespace {

constexpr std::uint32_t kSubgroups = 4;    // of a workgroup of the shaders of matrix units
constexpr std::int64_t kLanesOfRows = 64;  // of a workgroup of the shaders that go through rows

std::uint32_t word(std::int64_t number) { return static_cast<std::uint32_t>(number); }

// Rows of a workgroup; none of the numbers depends on how many.
std::int64_t tile_of(std::int64_t rows) { return rows > 4 ? 8 : rows > 2 ? 4 : rows; }

// Calls for all columns, of which a workgroup takes `each`: a call takes as many as a device lets
// it.
template <typename Call>
void dispatch_columns(Recorder& recorder, const Pipeline& pipeline, Call call, std::int64_t rows,
                      std::int64_t each) {
  const std::int64_t groups = ceil_div(std::int64_t{call.columns}, each);
  for (std::int64_t first = 0; first < groups; first += kMostGroups) {
    call.first = word(first);
    recorder.dispatch(pipeline, call, {rows, std::min(groups - first, kMostGroups)});
  }
}

// The two forms of a product, with its weights and with those that rows choose. `kind`: but for the
// rows of a workgroup; make(weights, choice): the call.
struct ProductForms {
  Shader plain, chosen;
  std::uint32_t kind;
  std::int64_t columns;  // of a workgroup
};
template <typename Own, typename Make>
void dispatch_product(VulkanContext& context, const ProductForms& forms, const Own& own,
                      const RowChoice* choice, const Tensor& x, const Tensor& y, const Make& make) {
  if (choice == nullptr) {
    const std::int64_t tile = tile_of(y.dim(0));
    dispatch_columns(context.recorder, context.pipelines.of(forms.plain, forms.kind | word(tile)),
                     make(own, NoChoice{}), ceil_div(y.dim(0), tile), forms.columns);
    return;
  }
  const bool is_sorted = choice->groups != 0;
  const std::int64_t turns = choice->turns, of_turn = turns == 0 ? 0 : y.dim(0) / turns;
  const std::int64_t tile = is_sorted ? RowChoice::kGroupRows : turns > 0 ? tile_of(of_turn) : 1;
  const std::int64_t groups = is_sorted   ? choice->most_groups
                              : turns > 0 ? turns * ceil_div(of_turn, tile)
                                          : y.dim(0);
  const ChosenOfCall weights{choice->matrices, is_sorted ? choice->groups : choice->chosen,
                             choice->order};
  const Choice chooses{.each = word(choice->each),
                       .turns = word(turns),
                       .is_sorted = is_sorted ? 1U : 0U,
                       .x_stride = word(x.dim(1)),
                       .y_stride = word(y.dim(1))};
  dispatch_columns(context.recorder, context.pipelines.of(forms.chosen, forms.kind | word(tile)),
                   make(weights, chooses), groups, forms.columns);
}

// For dispatch_product, of weights that are floats; `blocks`: as LinearCall has it.
auto call_of_floats(const VulkanLinear& w, Address input, std::int64_t blocks, const Tensor& y) {
  return [&w, &y, input, blocks](const auto& weights, const auto& chooses) {
    return LinearCall{weights,
                      input,
                      address_of(y),
                      word(blocks),
                      word(w.out_width()),
                      word(y.dim(0)),
                      w.bias() == 0 ? 0U : 1U,
                      0U,
                      chooses};
  };
}

}  // namespace

void VulkanProducts::linear(const VulkanLinear& w, const Tensor& x, const Tensor& y) {
  if (x.dim(0) > 0) multiply(w, nullptr, x, y);
}

void VulkanProducts::linear_chosen(const VulkanLinear& like, const RowChoice& choice,
                                   const Tensor& x, const Tensor& y) {
  CHECK(y.dim(0) == x.dim(0) * choice.each && y.dim(0) <= kMostGroups) << y.dim(0) << " rows";
  if (x.dim(0) == 0) return;
  if (like.codes() == nullptr || like.codes()->order() == 0) return multiply(like, &choice, x, y);
  RowChoice alone = choice;
  alone.each = 1;
  multiply(like, &alone, ordered(like, choice, x), y);
}

// Each row of the result has an input of its own, in the order of its matrix's columns.
Tensor VulkanProducts::ordered(const VulkanLinear& like, const RowChoice& choice, const Tensor& x) {
  CHECK(choice.turns == 0 && x.dim(1) == like.in_width());
  const std::int64_t rows = x.dim(0) * choice.each;
  const Tensor to = scratch_.alloc(DType::kF32, {rows, x.dim(1)});
  twin_.written(to);
  context_.recorder.dispatch(context_.pipelines.of(Shader::kOrderRows),
                             OrderRowsCall{choice.matrices, choice.chosen, address_of(x),
                                           address_of(to), word(choice.each), word(x.dim(1))},
                             {ceil_div(x.dim(1), kLanesOfRows), rows});
  return to;
}

void VulkanProducts::multiply(const VulkanLinear& w, MaybeChoice choice, const Tensor& x,
                              const Tensor& y) {
  if (w.codes() != nullptr)
    multiply_codes(w, choice, x, y);
  else if (w.dtype() == DType::kBF16)
    multiply_blocks(w, choice, x, y);
  else
    multiply_chains(w, choice, x, y);
}

// The input as blocks of bf16.
Address VulkanProducts::rounded(const VulkanLinear& w, const Tensor& x, Address order) {
  if (x.dim(1) == w.in_width() && order == 0)
    if (const Address made = twin_.of(x); made != 0) return made;
  const std::int64_t rows = x.dim(0), pairs = round_up(w.in_width(), VulkanLinear::kBlock) / 2;
  const Tensor to = scratch_.alloc(DType::kI32, {rows, pairs});
  twin_.forget();
  context_.recorder.dispatch(context_.pipelines.of(Shader::kRoundInput),
                             RoundCall{address_of(x), address_of(to), order, word(w.in_width()),
                                       word(x.dim(1)), word(pairs), order == 0 ? 0U : 1U},
                             {ceil_div(pairs, kLanesOfRows), rows});
  return address_of(to);
}

VulkanProducts::InputCodes VulkanProducts::round_to_codes(const VulkanCodes& w, const Tensor& x,
                                                          Address order) {
  const std::int64_t rows = x.dim(0), blocks = w.blocks();
  const Tensor codes = scratch_.alloc(DType::kI8, {rows, blocks * VulkanCodes::kBlock});
  twin_.forget();
  if (const WeightFormat& format = w.format(); format.super > 0 && format.has_minima) {
    const std::int64_t parts = VulkanCodes::kBlock / format.group;
    const std::int64_t supers = blocks / w.blocks_per_scale();
    const InputCodes made{address_of(codes),
                          address_of(scratch_.alloc(DType::kF32, {rows, blocks})),
                          address_of(scratch_.alloc(DType::kI32, {rows, blocks * parts})),
                          address_of(scratch_.alloc(DType::kF32, {rows, supers}))};
    context_.recorder.dispatch(
        context_.pipelines.of(Shader::kRoundSupers),
        RoundSupersCall{address_of(x), made.codes, made.scales, made.sums, made.u_scales,
                        word(x.dim(1)), word(blocks), word(parts)},
        {supers, rows});
    return made;
  }
  const std::int64_t groups = ceil_div(blocks * VulkanCodes::kBlock, w.group());
  const InputCodes made{address_of(codes), address_of(scratch_.alloc(DType::kF32, {rows, groups})),
                        address_of(scratch_.alloc(DType::kI32, {rows, groups}))};
  context_.recorder.dispatch(
      context_.pipelines.of(Shader::kRoundCodes),
      RoundCodesCall{address_of(x), made.codes, made.scales, made.sums, order, word(x.dim(1)),
                     word(blocks), word(w.group()), word(groups), order == 0 ? 0U : 1U},
      {groups, rows});
  return made;
}

void VulkanProducts::multiply_blocks(const VulkanLinear& w, MaybeChoice choice, const Tensor& x,
                                     const Tensor& y) {
  const Address input = rounded(w, x, 0);
  twin_.written(y);
  if (choice == nullptr && context_.units.bf16.is_there())
    return multiply_by_units(Shader::kLinearUnitsBf16, context_.units.bf16, w, {input}, y);
  dispatch_product(context_, {Shader::kLinear, Shader::kLinearChosen, 0, VulkanLinear::kColumns},
                   FloatsOfCall{w.weights(), w.bias()}, choice, x, y,
                   call_of_floats(w, input, w.padded_width() / VulkanLinear::kBlock, y));
}

void VulkanProducts::multiply_chains(const VulkanLinear& w, MaybeChoice choice, const Tensor& x,
                                     const Tensor& y) {
  const std::uint32_t is_wide = w.dtype() == DType::kF32 ? 16 : 0;
  if (is_wide == 0 && choice == nullptr && context_.units.fp16.is_there()) {
    const Halves input = halved(w, x);
    twin_.written(y);
    return multiply_by_units(Shader::kLinearUnits, context_.units.fp16, w, input, y);
  }
  twin_.written(y);
  dispatch_product(
      context_,
      {Shader::kLinearChain, Shader::kLinearChainChosen, is_wide, VulkanLinear::kColumnsOfChains},
      FloatsOfCall{w.weights(), w.bias()}, choice, x, y,
      call_of_floats(w, address_of(x), w.in_width(), y));
}

// The input as fp16, each row times a power of two.
VulkanProducts::Halves VulkanProducts::halved(const VulkanLinear& w, const Tensor& x) {
  const std::int64_t rows = x.dim(0), words = round_up(w.in_width(), VulkanLinear::kBlock) / 2;
  const Halves made{address_of(scratch_.alloc(DType::kI32, {rows, words})),
                    address_of(scratch_.alloc(DType::kF32, {rows}))};
  twin_.forget();
  for (std::int64_t first = 0; first < rows; first += kMostGroups) {
    const std::int64_t some = std::min(kMostGroups, rows - first);
    context_.recorder.dispatch(context_.pipelines.of(Shader::kHalveRows),
                               HalveRowsCall{address_of(x.rows(first, some)),
                                             made.rows + at(first * words) * sizeof(std::uint32_t),
                                             made.factors + at(first) * sizeof(float),
                                             word(w.in_width()), word(x.dim(1)), word(words)},
                               {some, 1});
  }
  return made;
}

// Of few rows one tile, of more two; none of the sums depends on how many.
void VulkanProducts::multiply_by_units(Shader shader, const UnitShape& shape, const VulkanLinear& w,
                                       const Halves& input, const Tensor& y) {
  const std::int64_t rows = y.dim(0);
  const std::uint32_t lanes = context_.units.lanes, tiles = rows > shape.m ? 2 : 1;
  const Pipeline& pipeline = context_.pipelines.of(shader, {.group = kSubgroups * lanes,
                                                            .lanes = lanes,
                                                            .m = shape.m,
                                                            .n = shape.n,
                                                            .k = shape.k,
                                                            .tiles = tiles});
  dispatch_columns(context_.recorder, pipeline,
                   LinearUnitsCall{w.weights(), w.bias(), input.rows, address_of(y), input.factors,
                                   word(w.in_width()), word(w.out_width()), word(rows),
                                   w.bias() == 0 ? 0U : 1U, 0U},
                   ceil_div(rows, std::int64_t{shape.m} * tiles), shape.n);
}

// The bits are those of few rows, which linear_rounded.comp computes: its workgroups have up to
// eight. A step of a unit lies within a group of k.
bool VulkanProducts::takes_bytes(const VulkanCodes& w, std::int64_t rows) const {
  constexpr std::int64_t kFewRows = 8;
  const UnitShape& shape = context_.units.int8;
  return shape.is_there() && rows > kFewRows && w.fits_8_bits() &&
         (w.format().group == 0 ? w.group() : w.format().group) % std::int64_t{shape.k} == 0;
}

void VulkanProducts::multiply_bytes(const VulkanLinear& w, const InputCodes& input,
                                    const Tensor& y) {
  const VulkanCodes& codes = *w.codes();
  const UnitShape& shape = context_.units.int8;
  const std::uint32_t lanes = context_.units.lanes;
  const Pipeline& pipeline =
      context_.pipelines.of(Shader::kRoundedUnits, {.variant = codes.kind(0),
                                                    .group = kSubgroups * lanes,
                                                    .lanes = lanes,
                                                    .m = shape.m,
                                                    .n = shape.n,
                                                    .k = shape.k});
  dispatch_columns(context_.recorder, pipeline,
                   RoundedUnitsCall{{codes.place(), w.bias()},
                                    input.codes,
                                    address_of(y),
                                    input.scales,
                                    input.sums,
                                    input.u_scales,
                                    word(codes.blocks()),
                                    word(w.out_width()),
                                    word(y.dim(0)),
                                    w.bias() == 0 ? 0U : 1U,
                                    0U,
                                    word(codes.blocks_per_scale())},
                   ceil_div(y.dim(0), std::int64_t{shape.m}), std::int64_t{shape.n} * kSubgroups);
}

void VulkanProducts::multiply_codes(const VulkanLinear& w, MaybeChoice choice, const Tensor& x,
                                    const Tensor& y) {
  const VulkanCodes& codes = *w.codes();
  const std::uint32_t kind = codes.kind(0);
  const Address order = choice == nullptr ? codes.order() : 0;  // else x has it already
  const CodesOfCall own{codes.place(), w.bias()};
  const std::uint32_t blocks = word(codes.blocks()), columns = word(w.out_width()),
                      rows = word(y.dim(0)), has_bias = w.bias() == 0 ? 0U : 1U,
                      per_scale = word(codes.blocks_per_scale());
  if (codes.format().rounds_input) {
    const InputCodes input = round_to_codes(codes, x, order);
    twin_.written(y);
    if (choice == nullptr && takes_bytes(codes, y.dim(0))) return multiply_bytes(w, input, y);
    dispatch_product(
        context_,
        {Shader::kLinearRounded, Shader::kLinearRoundedChosen, kind, VulkanLinear::kColumns}, own,
        choice, x, y, [&](const auto& weights, const auto& chooses) {
          return LinearRoundedCall{
              weights, input.codes, address_of(y), input.scales, input.sums, input.u_scales, blocks,
              columns, rows,        has_bias,      0U,           per_scale,  chooses};
        });
    return;
  }
  const Address input = rounded(w, x, order);
  twin_.written(y);
  dispatch_product(context_,
                   {Shader::kLinearCodes, Shader::kLinearCodesChosen, kind, VulkanLinear::kColumns},
                   own, choice, x, y, [&](const auto& weights, const auto& chooses) {
                     return LinearCodesCall{weights,  input, address_of(y), blocks, columns, rows,
                                            has_bias, 0U,    per_scale,     chooses};
                   });
}

void VulkanProducts::gated_act(const Tensor& gate_up, Activation act, const Tensor& out) {
  const std::int64_t width = out.dim(1);
  expect(gate_up, {out.dim(0), 2 * width}, DType::kF32);
  const std::int64_t blocks = ceil_div(width, VulkanLinear::kBlock);
  const Address rounded = twin_.make(out);
  context_.recorder.dispatch(
      context_.pipelines.of(Shader::kGatedAct, static_cast<std::uint32_t>(act)),
      GatedActCall{address_of(gate_up), address_of(out), rounded, word(width), word(blocks)},
      {ceil_div(blocks * 16, kLanesOfRows), out.dim(0)});
}

void VulkanProducts::rows(const VulkanLinear& w, std::span<const Token> tokens, const Tensor& out) {
  twin_.forget();
  const Address sent = context_.recorder.send(tokens);
  const Recorder::Groups groups{ceil_div(out.dim(1), kLanesOfRows), out.dim(0)};
  if (w.codes() == nullptr) {
    const std::uint32_t kind =  // KIND of shaders/rows.comp
        w.dtype() == DType::kF32   ? 5
        : w.dtype() == DType::kF16 ? 4
                                   : 2;
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
