#include "tune/expected_acceptance.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/index.h"

namespace foretoken {

double chance_at(std::span<const TopLogprob> top, Token token, double temperature) {
  if (top.empty()) return 0;
  double known = 0, sum = 0, own = 0;
  for (const TopLogprob& each : top) {
    const double logprob = static_cast<double>(each.logprob);
    const double weight =
        std::exp((logprob - static_cast<double>(top.front().logprob)) / temperature);
    known += std::exp(logprob);
    sum += weight;
    if (each.token == token) own = weight;
  }
  const double least = static_cast<double>(top.back().logprob);
  const double others = std::max(0.0, 1 - known) / std::exp(least);
  if (std::isfinite(others))
    sum += others * std::exp((least - static_cast<double>(top.front().logprob)) / temperature);
  return own / sum;
}

double expected_acceptance(const RecordedText& text, int next, std::span<const Token> tokens,
                           std::span<const std::int32_t> parents, std::span<const float> scores,
                           double temperature) {
  std::vector<double> chances(tokens.size(), 1);
  std::vector<int> places(tokens.size(), -1);  // in the output, of what follows a node; -1: off it
  places[0] = next;
  double sum = 0;
  for (std::size_t n = 1; n < tokens.size(); ++n) {
    const auto parent = at(parents[n]);
    const int place = places[parent];
    const bool is_known = place >= 0 && at(place) < text.tops.size();
    double chance = 0;
    if (is_known) {
      chance = chance_at(text.tops[at(place)], tokens[n], temperature);
      if (at(place) < text.output.size() && text.output[at(place)] == tokens[n])
        places[n] = place + 1;
    } else if (scores[parent] > 0) {
      chance = std::min(1.0, static_cast<double>(scores[n]) / static_cast<double>(scores[parent]));
    }
    chances[n] = chances[parent] * chance;
    sum += chances[n];
  }
  return sum;
}

}  // namespace foretoken
