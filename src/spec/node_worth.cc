#include "spec/node_worth.h"

#include <algorithm>

namespace foretoken {
namespace {

constexpr double kMemory = 0.98;  // of the decaying sums, per tree
constexpr double kPrior = 8.0;    // tokens that scores are taken at their word for, at first
// However bad drafts have been, likely ones are tried, or nothing would ever be learned again.
constexpr double kHighest = 0.5;

}  // namespace

void NodeWorth::set_costs(double row_seconds, double token_seconds) {
  row_ = row_seconds;
  token_ = token_seconds;
}

void NodeWorth::add_outcome(double promised, int accepted) {
  if (promised <= 0) return;
  promised_ = promised_ * kMemory + promised;
  accepted_ = accepted_ * kMemory + accepted;
}

double NodeWorth::trust() const { return (accepted_ + kPrior) / (promised_ + kPrior); }

float NodeWorth::least_score() const {
  if (token_ == 0) return 0;
  return static_cast<float>(std::min(kHighest, row_ / (trust() * token_)));
}

bool NodeWorth::is_level_worth(double promised, double seconds) const {
  return token_ == 0 || promised * trust() * token_ > seconds;
}

}  // namespace foretoken
