#include "backend/vulkan/vulkan_experts.h"

#include <algorithm>
#include <string>
#include <vector>

#include "backend/host/expert_rows.h"
#include "backend/vulkan/calls.h"
#include "backend/vulkan/vulkan_linear.h"
#include "base/error.h"
#include "base/index.h"

namespace foretoken {
namespace {

// Of shaders/route.comp.
constexpr int kMostExperts = 1024, kMostExpertGroups = 64;

const VulkanLinear& held_linear(const PackedLinear* w) {
  return static_cast<const VulkanLinear&>(*w);
}
std::uint32_t as_word(std::int64_t value) { return static_cast<std::uint32_t>(value); }

}  // namespace

std::int64_t VulkanExperts::workspace_bytes(const ForwardSize& size) {
  const std::int64_t pairs = std::min(size.rows, kMostRows) * size.chosen_experts;
  const std::int64_t inner = round_up(size.expert_intermediate, VulkanLinear::kBlock);
  // The twin, too; and inputs once more in the order of columns, and as codes with scales and sums.
  return pairs * (3 * size.hidden + 7 * inner + 8) * static_cast<std::int64_t>(sizeof(float));
}

void VulkanExperts::expect_routing(const Routing& routing) {
  if (routing.experts <= kMostExperts && routing.groups <= kMostExpertGroups) return;
  throw Error({.what = "the Vulkan backend chooses among fewer experts",
               .where = "--device",
               .expected = "up to 1024 experts in up to 64 groups",
               .found = std::to_string(routing.experts) + " experts in " +
                        std::to_string(routing.groups) + " groups"});
}

void VulkanExperts::expect_held(std::span<const ExpertLinears> experts) {
  for (const Matrix matrix : {&ExpertLinears::gate_up, &ExpertLinears::down})
    expect_one_format(matrices_of(experts, matrix));
}

void VulkanExperts::route(const Tensor& logits, const Routing& routing,
                          const RouterVectors& vectors, const Tensor& chosen,
                          const Tensor& weights) {
  expect(logits, {-1, routing.experts}, DType::kF32);
  expect(chosen, {logits.dim(0), routing.chosen}, DType::kI32);
  expect(weights, {logits.dim(0), routing.chosen}, DType::kF32);
  expect_routing(routing);
  if (logits.dim(0) == 0) return;
  const auto address = [](const Tensor& vector) {
    return vector.empty() ? Address{0} : address_of(vector);
  };
  context_.recorder.dispatch(
      context_.pipelines.of(Shader::kRoute, static_cast<std::uint32_t>(routing.score)),
      RouteCall{.logits = address_of(logits),
                .bias = address(vectors.bias),
                .scale = address(vectors.scale),
                .chosen = address_of(chosen),
                .weights = address_of(weights),
                .experts = as_word(routing.experts),
                .count = as_word(routing.chosen),
                .normalises = routing.normalises ? 1U : 0U,
                .has_bias = vectors.bias.empty() ? 0U : 1U,
                .has_scale = vectors.scale.empty() ? 0U : 1U,
                .factor = routing.scale,
                .groups = as_word(routing.groups),
                .kept_groups = as_word(routing.kept_groups),
                .group_tops = as_word(routing.group_tops)},
      {logits.dim(0), 1});
}

std::vector<const VulkanLinear*> VulkanExperts::matrices_of(std::span<const ExpertLinears> experts,
                                                            Matrix matrix) {
  std::vector<const VulkanLinear*> all;
  for (const ExpertLinears& expert : experts) all.push_back(&held_linear(expert.*matrix));
  return all;
}

Address VulkanExperts::table_of(std::span<const ExpertLinears> experts, Matrix matrix) {
  return tables_.of(matrices_of(experts, matrix));
}

void VulkanExperts::sort(RowChoice& choice, std::int64_t rows, std::int64_t experts) {
  constexpr std::int64_t kFewest = 4;  // rows of an expert: with fewer most of a group is empty
  if (rows < kFewest * experts || experts > kMostExperts) return;
  choice.most_groups = std::min(rows, experts + rows / RowChoice::kGroupRows);
  choice.order = address_of(scratch_.alloc(DType::kI32, {rows}));
  choice.groups = address_of(scratch_.alloc(DType::kI32, {3 * choice.most_groups}));
  context_.recorder.dispatch(context_.pipelines.of(Shader::kGroupRows),
                             GroupRowsCall{.chosen = choice.chosen,
                                           .order = choice.order,
                                           .groups = choice.groups,
                                           .rows = as_word(rows),
                                           .matrices = as_word(experts),
                                           .most_groups = as_word(choice.most_groups)},
                             {1, 1});
}

void VulkanExperts::mix(std::span<const ExpertLinears> experts, Activation act, const Tensor& x,
                        const Tensor& chosen, const Tensor& weights, const Tensor& out) {
  expect_mix(experts, x, chosen, weights, out);
  for (std::int64_t first = 0; first < x.dim(0); first += kMostRows) {
    const std::int64_t rows = std::min(kMostRows, x.dim(0) - first);
    const Arena::Mark before = scratch_.mark();
    mix_some(experts, act, x.rows(first, rows), chosen.rows(first, rows), weights.rows(first, rows),
             out.rows(first, rows));
    scratch_.release(before);
  }
}

void VulkanExperts::mix_some(std::span<const ExpertLinears> experts, Activation act,
                             const Tensor& x, const Tensor& chosen, const Tensor& weights,
                             const Tensor& out) {
  constexpr std::int64_t kLanes = 64;  // of shaders/add_weighted.comp
  const VulkanLinear& gate_up = held_linear(experts[0].gate_up);
  const VulkanLinear& down = held_linear(experts[0].down);
  const std::int64_t each = chosen.dim(1), pairs = x.dim(0) * each;
  const Tensor both = scratch_.alloc(DType::kF32, {pairs, gate_up.out_width()});
  const Tensor gated = scratch_.alloc(DType::kF32, {pairs, down.in_width()});
  const Tensor parts = scratch_.alloc(DType::kF32, {pairs, down.out_width()});
  RowChoice first{.matrices = table_of(experts, &ExpertLinears::gate_up),
                  .chosen = address_of(chosen),
                  .each = each};
  sort(first, pairs, std::ssize(experts));
  RowChoice second = first;
  second.matrices = table_of(experts, &ExpertLinears::down);
  second.each = 1;
  products_.linear_chosen(gate_up, first, x, both);
  products_.gated_act(both, act, gated);
  products_.linear_chosen(down, second, gated, parts);
  context_.recorder.dispatch(context_.pipelines.of(Shader::kAddWeighted),
                             AddWeightedCall{.parts = address_of(parts),
                                             .weights = address_of(weights),
                                             .to = address_of(out),
                                             .width = as_word(out.dim(1)),
                                             .each = as_word(each)},
                             {ceil_div(out.dim(1), kLanes), out.dim(0)});
}

}  // namespace foretoken
