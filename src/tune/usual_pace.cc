#include "tune/usual_pace.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "base/error.h"

namespace foretoken {

double usual_pace(std::vector<double> seconds_per_token) {
  CHECK(seconds_per_token.size() >= 3) << seconds_per_token.size() << " rounds";
  std::ranges::sort(seconds_per_token);
  const auto middle = std::span(seconds_per_token).subspan(1, seconds_per_token.size() - 2);
  return static_cast<double>(middle.size()) / std::accumulate(middle.begin(), middle.end(), 0.0);
}

}  // namespace foretoken
