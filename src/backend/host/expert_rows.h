#pragma once
// Which experts rows use, where memory is the host's (backend/experts.h). Pure functions of their
// arguments; any thread.

#include <cstdint>
#include <span>

#include "backend/experts.h"
#include "tensor/tensor.h"

namespace foretoken {

// Of the scores of all experts [routing.experts]; bias: as many, or none. chosen, weights
// [routing.chosen]: by rising number of the expert. Scores that are no numbers come last.
void choose_experts(const Routing& routing, std::span<const float> scores,
                    std::span<const float> bias, std::int32_t* chosen, float* weights);

// The same of row `row` of scores [rows, experts], into that row of chosen and weights, each weight
// times its expert's scale.
void choose_row(const Routing& routing, const Tensor& scores, const RouterVectors& vectors,
                std::int64_t row, const Tensor& chosen, const Tensor& weights);

// The j-th expert of a row.
inline std::int32_t chosen_expert(const Tensor& chosen, std::int64_t row, std::int64_t j) {
  return static_cast<const std::int32_t*>(chosen.data())[row * chosen.dim(1) + j];
}

// Bug check: the arguments of StepOps::mix_experts fit together.
void expect_mix(std::span<const ExpertLinears> experts, const Tensor& x, const Tensor& chosen,
                const Tensor& weights, const Tensor& out);

}  // namespace foretoken
