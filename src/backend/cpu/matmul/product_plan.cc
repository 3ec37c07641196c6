#include "backend/cpu/matmul/product_plan.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "backend/cpu/table/kernels.h"
#include "base/index.h"

namespace foretoken {
namespace {

constexpr int kMostCols = 1 << 12, kMostShare = 1 << 10, kMostStep = 1 << 16,
              kMostPrefetch = 1 << 20;

struct Number {
  std::string_view name;
  int ProductPlan::* value;
  int step, most;
};
constexpr std::array<Number, 4> kNumbers{{{"cols", &ProductPlan::cols, kBlockCols, kMostCols},
                                          {"share", &ProductPlan::share, 1, kMostShare},
                                          {"step", &ProductPlan::step_k, kBlockK, kMostStep},
                                          {"prefetch", &ProductPlan::prefetch, 64, kMostPrefetch}}};

// "name value" into the plan.
bool read_number(std::string_view text, ProductPlan& plan) {
  const auto space = text.find(' ');
  if (space == std::string_view::npos) return false;
  for (const Number& number : kNumbers) {
    if (text.substr(0, space) != number.name) continue;
    const char* const begin = text.data() + space + 1;
    const char* const end = text.data() + text.size();
    int value = 0;
    const auto [last, error] = std::from_chars(begin, end, value);
    if (error != std::errc() || last != end) return false;
    plan.*number.value = value;
    return value > 0 && value <= number.most && value % number.step == 0;
  }
  return false;
}

}  // namespace

std::string ProductPlan::str() const {
  std::string text;
  for (const Number& number : kNumbers)
    if (this->*number.value > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", number.name, this->*number.value);
  return text.empty() ? "usual" : text;
}

std::optional<ProductPlan> parse_plan(std::string_view text) {
  ProductPlan plan;
  if (text == "usual") return plan;
  for (;;) {
    const auto comma = text.find(", ");
    if (!read_number(text.substr(0, comma), plan)) return std::nullopt;
    if (comma == std::string_view::npos) return plan;
    text.remove_prefix(comma + 2);
  }
}

std::size_t ProductPlans::class_of(int rows) {
  return at(std::ranges::lower_bound(kRows, rows) - kRows.begin());
}

const ProductPlan& ProductPlans::of(int rows) const { return plans_[class_of(rows)]; }

}  // namespace foretoken
