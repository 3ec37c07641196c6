#pragma once
// usual_pace: tokens a second of rounds that were run for real, from the seconds per token that
// each took: of their mean without the fastest and the slowest one. No median: a machine may change
// between two speeds, and what steps cost in these minutes is a mean of both, too. Pure.

#include <vector>

namespace foretoken {

// Of three rounds at least.
double usual_pace(std::vector<double> seconds_per_token);

}  // namespace foretoken
