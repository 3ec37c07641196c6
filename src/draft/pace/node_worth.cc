#include "draft/pace/node_worth.h"

#include <algorithm>

namespace foretoken {
namespace {

// However bad drafts have been, likely ones are tried, or nothing would ever be learned again.
constexpr float kHighest = 0.5F;

}  // namespace

void NodeWorth::set_costs(double row_seconds, double token_seconds) {
  row_ = row_seconds;
  token_ = token_seconds;
}

float NodeWorth::break_even() const {
  return token_ == 0 ? 0 : static_cast<float>(row_ / (trust_.factor() * token_));
}

float NodeWorth::least_score() const { return std::min(kHighest, break_even()); }

bool NodeWorth::is_level_worth(double promised, double seconds) const {
  return token_ == 0 || promised * trust_.factor() * token_ > seconds;
}

}  // namespace foretoken
