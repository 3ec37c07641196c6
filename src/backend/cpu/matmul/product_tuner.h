#pragma once
// ProductTuner: finds the plans of products by trying them on the weights themselves. What it
// chooses shows in speed only: whichever it takes, the bits are the same. Products of one shape
// share plans, and take turns while they are timed, so that weights come from where they do in a
// step.
// Of a plan one number is varied at a time, against the best so far, and what is taken in the end
// has beaten the usual plan in turns. Not thread-safe; nobody computes meanwhile.

#include <functional>
#include <span>
#include <vector>

#include "backend/cpu/matmul/gemm.h"
#include "backend/measured_speed.h"

namespace foretoken {

// The choice itself, apart from clocks: times `plan` once.
using TimePlan = std::function<double(const ProductPlan& plan)>;

struct PlanChoice {
  ProductPlan plan;
  double usual_seconds = 0, tuned_seconds = 0;  // least of turns; equal where the usual stays
};

// Products of so many rows.
PlanChoice choose_plan(int rows, const TimePlan& time);

// Gives all weights their plans, for up to max_rows rows (at most the largest class), and says what
// they are; `known` is not measured again.
std::vector<TunedProduct> tune_products(Gemm& gemm, std::span<CpuLinear* const> linears,
                                        int max_rows, std::span<const TunedProduct> known);

}  // namespace foretoken
