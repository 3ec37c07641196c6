#include "draft/with_model/coupling_odds.h"

#include <algorithm>
#include <cmath>

#include "base/index.h"

namespace foretoken {
namespace {

constexpr float kTextMemory = 0.98F;  // of a sequence, per token
constexpr int kUsual = 256;           // tokens that tell what is usual
constexpr float kPrior = 24;          // tokens that a new sequence is taken to be as usual
constexpr int kFewOutcomes = 32;      // fewer do not tell what is usual
constexpr int kJudgeInterval = 4;  // roots of which one is judged where the noise is not followed
constexpr float kLeastOdds = 0.005F;  // no promise is held for less probable
constexpr float kWorth = 0.1F;        // of log-likelihood a token: less does not pay for the draws

constexpr std::size_t kNumSharpness = CouplingOdds::kSharpness.size();
// Where nothing is known: share 0.8, and 1 with kAlways.
constexpr std::size_t kFirstSharpness = 2, kFirstPair = kNumSharpness + kFirstSharpness;

float share_of(std::size_t pair) { return CouplingOdds::kShares[pair / kNumSharpness]; }
float sharpness_of(std::size_t pair) { return CouplingOdds::kSharpness[pair % kNumSharpness]; }

// e^(sharpness * (log_prob + share * noise)), the greatest being 1, and their sum.
float weigh(float share, float sharpness, std::span<const Drawable> found, std::span<float> out) {
  const auto value = [share](const Drawable& c) { return c.log_prob + share * c.noise; };
  float best = -1e30F, sum = 0;
  for (const Drawable& c : found)
    if (c.token >= 0) best = std::max(best, value(c));
  for (std::size_t i = 0; i < found.size(); ++i) {
    const float weight = found[i].token < 0 ? 0.0F : std::exp(sharpness * (value(found[i]) - best));
    if (i < out.size()) out[i] = weight;
    sum += weight;
  }
  return sum;
}

// Of the draft model's probability; of NaN nothing.
float rest_of(std::span<const Drawable> found) {
  float rest = 1;
  for (const Drawable& c : found)
    if (c.token >= 0) rest -= std::exp(c.log_prob);
  return std::min(1.0F, std::max(0.0F, rest));
}

}  // namespace

void CouplingOdds::Record::add(const Record& news, float keep, float share) {
  tokens = tokens * keep + news.tokens * share;
  for (std::size_t pair = 0; pair < kPairs; ++pair)
    score[pair] = score[pair] * keep + news.score[pair] * share;
  missed = missed * keep + news.missed * share;
  rest = rest * keep + news.rest * share;
}

// The sequence's record and, the less is known of it, what is usual.
CouplingOdds::Record CouplingOdds::total(const Slot& slot) const {
  const float prior = std::min(static_cast<float>(outcomes_), kPrior);
  Record total = usual_;
  total.add(slot.own, prior * kPrior / (kPrior + slot.own.tokens), 1);
  return total;
}

void CouplingOdds::choose(Slot& slot) const {
  const Record record = total(slot);
  const auto best_of = [&](std::size_t first, std::size_t end) {
    const auto scores = std::span(record.score).subspan(first, end - first);
    return first + at(std::ranges::max_element(scores) - scores.begin());
  };
  const std::size_t all = best_of(0, kPairs), none = best_of(kPairs - kNumSharpness, kPairs);
  const bool always = coupling_ == Coupling::kAlways, few = outcomes_ < kFewOutcomes;
  slot.best = always ? best_of(0, kNumSharpness) : all;
  const bool nothing_known = std::ranges::min(record.score) == 0;  // the best may well be 0
  if (nothing_known) slot.best = always ? kFirstSharpness : kFirstPair;
  slot.follows = always || few || record.score[all] - record.score[none] > kWorth * record.tokens;
  slot.often = (1 + record.missed) / (1 + record.rest);
}

void CouplingOdds::open(SeqSlot slot) {
  if (slots_.size() <= at(slot)) slots_.resize(at(slot) + 1);
  Slot& s = slots_[at(slot)];
  s.own = {};
  s.unjudged = 0;
  s.num_judged = 0;
  choose(s);
}

float CouplingOdds::noise_share(SeqSlot slot) const { return share_of(slots_[at(slot)].best); }

bool CouplingOdds::wants_outcome(SeqSlot slot) {
  Slot& s = slots_[at(slot)];
  if (!s.follows && ++s.unjudged < kJudgeInterval) return false;
  s.unjudged = 0;
  return true;
}

void CouplingOdds::to_chances(SeqSlot slot, float temperature, std::span<const Drawable> found,
                              std::span<float> out) const {
  const Slot& s = slots_[at(slot)];
  const float sum = weigh(share_of(s.best), temperature * sharpness_of(s.best), found, out);
  const float hit = std::max(0.0F, 1 - s.often * rest_of(found));
  for (float& chance : out) chance = sum > 0 ? hit * chance / sum : 0.0F;
}

void CouplingOdds::expect(SeqSlot slot, float temperature, std::span<const Drawable> found,
                          std::span<const Drawable> judged) {
  Slot& s = slots_[at(slot)];
  s.temperature = temperature;
  s.rest = rest_of(found);
  s.found.clear();
  for (const Drawable& candidate : found) s.found.push_back(candidate.token);
  s.num_judged = 0;
  for (const Drawable& candidate : judged) {
    const auto seen = std::span(s.judged).first(s.num_judged);
    if (candidate.token < 0 || s.num_judged == kJudged ||
        std::ranges::find(seen, candidate.token, &Drawable::token) != seen.end())
      continue;
    s.judged[s.num_judged++] = candidate;
  }
}

// A draw of what is not listed says nothing of the order.
CouplingOdds::Record CouplingOdds::news_of(const Slot& slot, Token drawn) const {
  Record news;
  news.tokens = 1;
  news.rest = slot.rest;
  news.missed = std::ranges::find(slot.found, drawn) == slot.found.end() ? 1.0F : 0.0F;
  const auto judged = std::span(slot.judged).first(slot.num_judged);
  const auto place = std::ranges::find(judged, drawn, &Drawable::token);
  if (place == judged.end()) return news;
  const auto index = static_cast<std::size_t>(place - judged.begin());
  std::array<float, kJudged> weight{};
  for (std::size_t pair = 0; pair < kPairs; ++pair) {
    const float sum = weigh(share_of(pair), slot.temperature * sharpness_of(pair), judged, weight);
    news.score[pair] = std::log(std::max(kLeastOdds, weight[index] / sum));
  }
  return news;
}

void CouplingOdds::add_outcome(SeqSlot slot, Token drawn) {
  Slot& s = slots_[at(slot)];
  if (s.num_judged == 0) return;
  const Record news = news_of(s, drawn);
  s.num_judged = 0;
  outcomes_ = std::min(outcomes_ + 1, kUsual);
  const float share = 1.0F / static_cast<float>(outcomes_);
  usual_.add(news, 1 - share, share);
  s.own.add(news, kTextMemory, 1);
  choose(s);
}

}  // namespace foretoken
