#pragma once
// Durations: a histogram of times with fixed bounds, as a plain value: one thread counts into it,
// reporting threads get a copy. Not a Prometheus object, so that the engine knows none.
// Invariant: count() is the sum of `counts`.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "base/index.h"

namespace foretoken {

struct Durations {
  // Upper bounds in seconds, inclusive; the last bucket has none. From a step of a tiny model to a
  // wait of many minutes.
  static constexpr std::array<double, 22> kBounds = {
      0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2,
      0.5,    1,      2,      5,     10,    20,    50,   100,  200,  500, 1000};

  std::array<std::uint64_t, kBounds.size() + 1> counts{};
  double sum = 0;

  void add(double seconds) {
    const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
    ++counts[at(bound - kBounds.begin())];
    sum += seconds;
  }
  std::uint64_t count() const {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  }
};

}  // namespace foretoken
