#include "spec/coupling_odds.h"

#include <algorithm>
#include <cmath>

#include "base/index.h"

namespace foretoken {
namespace {

constexpr float kMemory = 0.98F;     // of a sequence, per token
constexpr float kPrior = 24.0F;      // tokens that a new sequence is taken to be like the others
constexpr float kNews = 1.0F / 256;  // share of a token in the mean of all
constexpr float kLeast = 0.005F;     // no promise is held for less probable
constexpr std::size_t kFirstError = 4;

}  // namespace

CouplingOdds::Scores CouplingOdds::first_scores() {
  Scores scores{};
  scores[kFirstError] = 0.01F;
  return scores;
}

void CouplingOdds::open(SeqSlot slot) {
  if (slots_.size() <= at(slot)) slots_.resize(at(slot) + 1);
  slots_[at(slot)] = {};
}

std::size_t CouplingOdds::best_error(SeqSlot slot) const {
  const Scores& own = slots_[at(slot)].score;
  std::size_t best = 0;
  for (std::size_t i = 1; i < kErrors.size(); ++i)
    if (own[i] + kPrior * usual_[i] > own[best] + kPrior * usual_[best]) best = i;
  return best;
}

// Errors make logits vary, which the target's have more of than the draft model's.
float CouplingOdds::slope(std::size_t error) const {
  if (coupling_ == Coupling::kAlways || error == 0) return 1;
  return std::sqrt(1 + kErrors[error] * kErrors[error]);
}

float CouplingOdds::noise_share(SeqSlot slot) const { return 1 / slope(best_error(slot)); }

// e^((slope * log_prob + noise) / error), and the sum of all, those not found included. What was
// not found is weighed where much of it can be drawn, which is where errors are large.
float CouplingOdds::weigh(std::size_t error, float temperature, std::span<const Drawable> found,
                          std::span<float> out) const {
  const float sharpness = temperature / kErrors[error], steepness = slope(error);
  const auto exponent = [&](const Drawable& c) {
    return sharpness * (steepness * c.log_prob + c.noise);
  };
  float best = -1e30F, rest = 1;
  for (const Drawable& c : found) {
    if (c.token < 0) continue;
    best = std::max(best, exponent(c));
    rest -= std::exp(c.log_prob);
  }
  float sum = sharpness < 1 ? std::max(0.0F, rest) * (1 + sharpness) * std::exp(-best) : 0.0F;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const float weight = found[i].token < 0 ? 0.0F : std::exp(exponent(found[i]) - best);
    if (i < out.size()) out[i] = weight;
    sum += weight;
  }
  return sum;
}

void CouplingOdds::to_chances(SeqSlot slot, float temperature, std::span<const Drawable> found,
                              std::span<float> out) const {
  const float sum = weigh(best_error(slot), temperature, found, out);
  for (float& chance : out) chance = sum > 0 ? chance / sum : 0.0F;
}

void CouplingOdds::expect(SeqSlot slot, float temperature, std::span<const Drawable> judged) {
  Slot& s = slots_[at(slot)];
  s.temperature = temperature;
  s.judged.fill({});
  std::size_t count = 0;
  for (const Drawable& candidate : judged) {
    const auto seen = std::span(s.judged).first(count);
    if (candidate.token < 0 || count == kJudged ||
        std::ranges::find(seen, candidate.token, &Drawable::token) != seen.end())
      continue;
    s.judged[count++] = candidate;
  }
}

void CouplingOdds::add_outcome(SeqSlot slot, Token drawn) {
  Slot& s = slots_[at(slot)];
  if (s.judged[0].token < 0) return;
  for (std::size_t error = 0; error < kErrors.size(); ++error) {
    std::array<float, kJudged> weight{};
    const float sum = weigh(error, s.temperature, s.judged, weight);
    float promised = 0, all = 0;
    for (std::size_t i = 0; i < kJudged; ++i) {
      all += weight[i];
      if (s.judged[i].token == drawn) promised = weight[i];
    }
    if (promised == 0) promised = std::max(0.0F, sum - all);  // it is one of the rest
    const float news = std::log(std::max(kLeast, promised / sum));
    s.score[error] = s.score[error] * kMemory + news;
    usual_[error] += kNews * (news - usual_[error]);
  }
  s.judged.fill({});
}

}  // namespace foretoken
