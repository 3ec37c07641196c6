#include "backend/host/expert_rows.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "base/index.h"

namespace foretoken {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();

// The places of the `count` largest values, of equals the first; in rising order.
std::vector<std::int32_t> largest(std::span<const float> values, int count) {
  std::vector<std::int32_t> places(values.size());
  std::iota(places.begin(), places.end(), 0);
  const auto end = places.begin() + count;
  std::partial_sort(places.begin(), end, places.end(), [&](std::int32_t a, std::int32_t b) {
    return values[at(a)] != values[at(b)] ? values[at(a)] > values[at(b)] : a < b;
  });
  places.erase(end, places.end());
  std::ranges::sort(places);
  return places;
}

float sum_of_largest(std::span<const float> values, int count) {
  std::vector<float> sorted(values.begin(), values.end());
  std::partial_sort(sorted.begin(), sorted.begin() + count, sorted.end(), std::greater<>());
  return std::accumulate(sorted.begin(), sorted.begin() + count, 0.0F);
}

// Experts outside the best groups get the lowest rank.
void keep_best_groups(const Routing& routing, std::span<float> ranks) {
  const std::size_t size = ranks.size() / at(routing.groups);
  std::vector<float> scores;
  for (std::size_t first = 0; first < ranks.size(); first += size)
    scores.push_back(sum_of_largest(ranks.subspan(first, size), routing.group_tops));
  const auto kept = largest(scores, routing.kept_groups);
  for (int group = 0; group < routing.groups; ++group)
    if (!std::ranges::binary_search(kept, group))
      std::ranges::fill(ranks.subspan(at(group) * size, size), kLowest);
}

}  // namespace

void choose_experts(const Routing& routing, std::span<const float> scores,
                    std::span<const float> bias, std::int32_t* chosen, float* weights) {
  DCHECK(scores.size() == at(routing.experts));
  std::vector<float> ranks(scores.begin(), scores.end());
  for (std::size_t e = 0; e < bias.size(); ++e) ranks[e] += bias[e];
  for (float& rank : ranks)
    if (std::isnan(rank)) rank = kLowest;
  if (routing.kept_groups < routing.groups) keep_best_groups(routing, ranks);
  const auto best = largest(ranks, routing.chosen);
  float sum = 0;
  for (std::size_t j = 0; j < best.size(); ++j) {
    chosen[j] = best[j];
    sum += weights[j] = scores[at(best[j])];
  }
  constexpr float kTiny = 1e-20F;  // no division by 0
  for (std::size_t j = 0; j < best.size(); ++j) {
    if (routing.normalises) weights[j] /= sum + kTiny;
    weights[j] *= routing.scale;
  }
}

void choose_row(const Routing& routing, const Tensor& scores, const RouterVectors& vectors,
                std::int64_t row, const Tensor& chosen, const Tensor& weights) {
  const auto experts = at(routing.experts);
  const Tensor& bias = vectors.bias;
  choose_experts(routing, {scores.row_f32(row), experts},
                 bias.empty() ? std::span<const float>() : std::span(bias.f32(), experts),
                 static_cast<std::int32_t*>(chosen.data()) + row * routing.chosen,
                 weights.row_f32(row));
  if (vectors.scale.empty()) return;
  for (std::int64_t j = 0; j < routing.chosen; ++j)
    weights.row_f32(row)[j] *= vectors.scale.f32()[chosen_expert(chosen, row, j)];
}

void expect_mix(std::span<const ExpertLinears> experts, const Tensor& x, const Tensor& chosen,
                const Tensor& weights, const Tensor& out) {
  expect(x, {-1, experts[0].gate_up->in_width()}, DType::kF32);
  expect(chosen, {x.dim(0), -1}, DType::kI32);
  expect(weights, {x.dim(0), chosen.dim(1)}, DType::kF32);
  expect(out, {x.dim(0), experts[0].down->out_width()}, DType::kF32);
}

}  // namespace foretoken
