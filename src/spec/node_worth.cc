#include "spec/node_worth.h"

#include <algorithm>

namespace foretoken {
namespace {

// However bad drafts have been, likely ones are tried, or nothing would ever be learned again.
constexpr double kHighest = 0.5;

}  // namespace

void NodeWorth::set_costs(double row_seconds, double token_seconds) {
  row_ = row_seconds;
  token_ = token_seconds;
}

float NodeWorth::least_score() const {
  if (token_ == 0) return 0;
  return static_cast<float>(std::min(kHighest, row_ / (trust_.factor() * token_)));
}

bool NodeWorth::is_level_worth(double promised, double seconds) const {
  return token_ == 0 || promised * trust_.factor() * token_ > seconds;
}

}  // namespace foretoken
