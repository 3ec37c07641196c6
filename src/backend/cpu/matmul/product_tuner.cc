#include "backend/cpu/matmul/product_tuner.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <utility>

#include "backend/cpu/matmul/packed_linear.h"
#include "base/index.h"
#include "base/seconds_since.h"

namespace foretoken {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTurns = 5, kLastTurns = 11;  // of two plans that are compared
constexpr double kBetter = 0.98;            // of the other's time, to be taken for better

struct Compared {
  double one, other;
};

// The least times of so many turns: what else runs on the machine only adds to them, and in turns
// a machine that changes its speed does so for both.
Compared compare(const ProductPlan& one, const ProductPlan& other, int turns,
                 const TimePlan& time) {
  Compared least{.one = time(one), .other = time(other)};
  for (int turn = 1; turn < turns; ++turn) {
    least.one = std::min(least.one, time(one));
    least.other = std::min(least.other, time(other));
  }
  return least;
}

struct Candidates {
  int ProductPlan::* number;
  std::span<const int> values;
};

constexpr std::array kColumnCounts{32, 64, 128, 256};
constexpr std::array kPrefetches{2048, 4096, 8192, 12288, 24576, 65536};
constexpr std::array kSteps{256, 1024, 2048};
constexpr std::array kShares{2, 12};

// What matters for so many rows: beside a few the weights' stream is the cost, beside many how
// often they are read again.
std::vector<Candidates> candidates(int rows) {
  constexpr int kFew = 16;
  std::vector<Candidates> all{{&ProductPlan::cols, kColumnCounts},
                              {&ProductPlan::prefetch, kPrefetches}};
  if (rows > kFew) {
    all.push_back({&ProductPlan::step_k, kSteps});
    all.push_back({&ProductPlan::share, kShares});
  }
  return all;
}

// "2048 to 3072 bf16": what products of one shape and format are called.
std::string name_of(const CpuLinear& w) {
  return std::to_string(w.in_width()) + " to " + std::to_string(w.out_width()) + " " +
         w.format_name();
}

// Times plans on weights of one shape.
class Timer {
 public:
  Timer(Gemm& gemm, std::span<CpuLinear* const> weights, int rows)
      : gemm_(gemm),
        weights_(weights),
        rows_(rows),
        x_(at(rows * weights[0]->in_width())),
        y_(at(rows * weights[0]->out_width())) {
    for (std::size_t i = 0; i < x_.size(); ++i)
      x_[i] = static_cast<float>(static_cast<int>(i * 7919 % 255) - 127) / 128;
  }

  // Seconds of a product, the mean of as many as take a while.
  double operator()(const ProductPlan& plan) {
    constexpr double kWhile = 0.002;
    int products = 0;
    double seconds = 0;
    const auto start = Clock::now();
    do {
      CpuLinear& w = *weights_[next_++ % weights_.size()];
      w.plans().set(ProductPlans::class_of(rows_), plan);
      gemm_.run(w, x_.data(), rows_, y_.data());
      ++products;
      seconds = seconds_since(start);
    } while (seconds < kWhile);
    return seconds / products;
  }

 private:
  Gemm& gemm_;
  std::span<CpuLinear* const> weights_;
  int rows_;
  std::size_t next_ = 0;
  std::vector<float> x_, y_;
};

}  // namespace

PlanChoice choose_plan(int rows, const TimePlan& time) {
  const ProductPlan usual;
  ProductPlan best;
  for (const auto& [number, values] : candidates(rows))
    for (const int value : values) {
      ProductPlan tried = best;
      tried.*number = value;
      const Compared seconds = compare(tried, best, kTurns, time);
      if (seconds.one < kBetter * seconds.other) best = tried;
    }
  const Compared seconds = compare(best, usual, kLastTurns, time);
  if (best == usual || seconds.one >= kBetter * seconds.other)
    return {.plan = usual, .usual_seconds = seconds.other, .tuned_seconds = seconds.other};
  return {.plan = best, .usual_seconds = seconds.other, .tuned_seconds = seconds.one};
}

std::vector<TunedProduct> tune_products(Gemm& gemm, std::span<CpuLinear* const> linears,
                                        int max_rows, std::span<const TunedProduct> known) {
  std::map<std::string, std::vector<CpuLinear*>> by_name;
  for (CpuLinear* w : linears) by_name[name_of(*w)].push_back(w);
  std::vector<TunedProduct> tuned;
  for (const auto& [name, weights] : by_name)
    for (const int rows : ProductPlans::kRows) {
      if (rows > max_rows) break;
      const auto found = std::ranges::find_if(
          known, [&](const auto& product) { return product.name == name && product.rows == rows; });
      std::optional<ProductPlan> plan;
      if (found != known.end()) plan = parse_plan(found->plan);
      if (plan) {
        tuned.push_back(*found);
      } else {
        const PlanChoice choice = choose_plan(rows, Timer(gemm, weights, rows));
        plan = choice.plan;
        tuned.push_back({.name = name,
                         .rows = rows,
                         .plan = choice.plan.str(),
                         .usual_seconds = choice.usual_seconds,
                         .tuned_seconds = choice.tuned_seconds});
      }
      for (CpuLinear* w : weights) w->plans().set(ProductPlans::class_of(rows), *plan);
    }
  return tuned;
}

}  // namespace foretoken
