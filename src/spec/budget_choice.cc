#include "spec/budget_choice.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"

namespace foretoken {
namespace {

constexpr int kSizes[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
constexpr double kStepMemory = 32, kTokenMemory = 256;  // steps
// A sample counts as at most so many times the mean: shared machines have slow moments.
constexpr double kOutlier = 1.3;
constexpr double kTrialShare = 0.01;  // of the time may be wasted on sizes that turn out worse
constexpr double kFirstCredit = 24;   // steps that may be wasted at the start
constexpr int kTrialSteps = 3;        // in a row, of one size
// Larger trees draw level with the best, because their acceptance adapts to the text at once.
constexpr double kAsGood = 0.98;

}  // namespace

void BudgetChoice::Mean::add(double x, double memory, double now) {
  const double kept = std::exp((sampled_at_ - now) / memory);
  sampled_at_ = now;
  weight_ = 1 + weight_ * kept;
  value_ += (x - value_) / weight_;
  samples_ = std::min(samples_ + 1, 2);
}

BudgetChoice::BudgetChoice(int max_nodes) {
  CHECK(max_nodes >= 1);
  for (const int size : kSizes)
    if (size < max_nodes) sizes_.push_back(size);
  sizes_.push_back(max_nodes);
  tokens_.resize(sizes_.size());
  rate_.resize(sizes_.size());
}

std::size_t BudgetChoice::size_index(int nodes) const {
  const auto found = std::find(sizes_.begin(), sizes_.end(), nodes);
  CHECK(found != sizes_.end());
  return static_cast<std::size_t>(found - sizes_.begin());
}

// Batches of 1, 2, 3-4, 5-8, ... sequences cost alike.
BudgetChoice::Costs& BudgetChoice::costs(int sequences) {
  const auto batch = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(sequences - 1)));
  if (costs_.size() <= batch) costs_.resize(batch + 1, Costs(sizes_.size()));
  return costs_[batch];
}

double BudgetChoice::rate_sizes(const Costs& costs) {
  double tokens = 1;  // a larger tree holds the smaller one, so it brings no less
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    rate_[i] = 0;
    if (!tokens_[i].is_known()) continue;
    tokens = std::max(tokens, tokens_[i].value());
    if (costs[i].is_known()) rate_[i] = tokens / costs[i].seconds();
  }
  return *std::max_element(rate_.begin(), rate_.end());
}

// The ones never tried come first, the largest before the others; then those unseen for long, the
// sooner the less they would waste.
std::size_t BudgetChoice::next_to_try(const Costs& costs, std::size_t best) const {
  std::size_t next = best;
  double most = 0;
  for (std::size_t i = sizes_.size(); i-- > 0;) {
    if (!costs[i].is_known() || !tokens_[i].is_known()) return i;
    const double share = rate_[i] / rate_[best];
    const double worth = (now_ - tokens_[i].sampled_at()) * share * share;
    if (i != best && worth > most) {
      most = worth;
      next = i;
    }
  }
  return next;
}

int BudgetChoice::choose(int sequences) {
  if (sizes_.size() == 1) return sizes_.front();
  const Costs& known = costs(sequences);
  const double highest = rate_sizes(known);
  if (highest == 0) return sizes_.back();
  std::size_t best = sizes_.size() - 1;
  while (rate_[best] < kAsGood * highest) --best;

  if (trials_left_ == 0 && credit_ > 0) {
    tried_ = next_to_try(known, best);
    trials_left_ = kTrialSteps;
  }
  if (trials_left_ == 0) return sizes_[best];
  --trials_left_;
  return sizes_[tried_];
}

// What was wasted beside the best known size is paid from the time that passes.
void BudgetChoice::account(const Costs& costs, std::size_t size, double seconds) {
  if (!has_started_) credit_ = kFirstCredit * seconds;
  has_started_ = true;
  credit_ = std::min(credit_ + kTrialShare * seconds, kFirstCredit * seconds);
  const double highest = rate_sizes(costs);
  const double share = highest > 0 && rate_[size] > 0 ? rate_[size] / highest : 1;
  credit_ -= seconds * (1 - share);
}

void BudgetChoice::add_step(int sequences, int nodes, double seconds) {
  const std::size_t size = size_index(nodes);
  Costs& known = costs(sequences);
  ++now_;
  Mean& step = known[size].step;
  if (step.is_known()) seconds = std::min(seconds, kOutlier * step.value());
  step.add(seconds, kStepMemory, now_);
  account(known, size, seconds);
}

void BudgetChoice::add_growth(int sequences, int nodes, double seconds) {
  Mean& growth = costs(sequences)[size_index(nodes)].growth;
  if (growth.is_known()) seconds = std::min(seconds, kOutlier * growth.value());
  growth.add(seconds, kStepMemory, now_);
}

void BudgetChoice::add_tokens(int nodes, int tokens) {
  tokens_[size_index(nodes)].add(tokens, kTokenMemory, now_);
}

}  // namespace foretoken
