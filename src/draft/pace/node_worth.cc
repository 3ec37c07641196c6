#include "draft/pace/node_worth.h"

#include <algorithm>

namespace foretoken {
namespace {

// However bad drafts have been, likely ones are tried, or nothing would ever be learned again: those
// whose score is worth its row if it comes true, and, whatever rows seem to cost, the likeliest.
constexpr double kLikely = 0.5, kLikeliest = 0.9;

}  // namespace

void NodeWorth::set_costs(double row_seconds, double token_seconds) {
  row_ = row_seconds;
  token_ = token_seconds;
}

float NodeWorth::break_even() const {
  return token_ == 0 ? 0 : static_cast<float>(row_ / (trust_.factor() * token_));
}

float NodeWorth::least_score() const {
  if (token_ == 0) return 0;
  const double tried = std::clamp(row_ / token_, kLikely, kLikeliest);
  return std::min(static_cast<float>(tried), break_even());
}

bool NodeWorth::is_level_worth(double promised, double seconds) const {
  return token_ == 0 || promised * trust_.factor() * token_ > seconds;
}

}  // namespace foretoken
