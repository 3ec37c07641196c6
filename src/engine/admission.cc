#include "engine/admission.h"

#include <algorithm>
#include <utility>

namespace foretoken {
namespace {

// Matching prefixes of a long queue would cost more than the order gains; the rest keep their turn.
constexpr std::size_t kMatchedWaiters = 128;
constexpr int kPatience = 64;        // later arrivals that may pass a waiting one
constexpr int kReserveClip = 4096;   // output tokens beyond these are not planned for
constexpr int kTokensPerRetry = 20;  // a preempted batch should run at least this much further

bool must_go_first(const Sequence& s) { return s.times_passed >= kPatience || s.retractions() > 0; }

}  // namespace

std::vector<Sequence*> admission_order(const WaitQueue& queue, SchedulePolicy policy,
                                       const RadixCache& cache) {
  std::vector<Sequence*> order;
  order.reserve(queue.size());
  for (const auto& waiting : queue) order.push_back(waiting.get());
  if (policy == SchedulePolicy::kFcfs) return order;

  const auto last =
      order.begin() + static_cast<std::ptrdiff_t>(std::min(order.size(), kMatchedWaiters));
  const auto ordinary = std::stable_partition(order.begin(), last,
                                              [](const Sequence* s) { return must_go_first(*s); });
  std::vector<std::pair<int, Sequence*>> by_match;
  for (auto it = ordinary; it != last; ++it) {
    const auto usable = static_cast<std::size_t>((*it)->reusable_tokens());
    by_match.emplace_back(
        cache.peek(std::span((*it)->tokens).first(usable), (*it)->request.cache_salt), *it);
  }
  std::stable_sort(by_match.begin(), by_match.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::transform(by_match.begin(), by_match.end(), ordinary,
                 [](const auto& item) { return item.second; });
  return order;
}

bool prefix_is_coming(const Sequence& waiting, std::span<const std::unique_ptr<Sequence>> running,
                      const RadixCache& cache) {
  const auto usable =
      std::span(waiting.tokens).first(static_cast<std::size_t>(waiting.reusable_tokens()));
  int longest = 0;
  for (const auto& other : running) {
    if (other->is_planted || other->request.cache_salt != waiting.request.cache_salt) continue;
    // What the other will have stored, and so published, when its prompt is done.
    const auto coming = std::span(other->tokens).first(other->tokens.size() - 1);
    const auto common = std::mismatch(usable.begin(), usable.end(), coming.begin(), coming.end());
    longest = std::max(longest, static_cast<int>(common.first - usable.begin()));
  }
  const int whole = longest / kPageTokens * kPageTokens;
  return whole > 0 && whole > cache.peek(usable, waiting.request.cache_salt);
}

int OutputReserve::tokens(const Sequence& s) const {
  return static_cast<int>(std::min(s.tokens_left(), kReserveClip) * ratio_);
}

void OutputReserve::relax() { ratio_ = std::max(kLowest, ratio_ - kStep); }

void OutputReserve::tighten(std::span<const std::unique_ptr<Sequence>> running) {
  double produced = 0, wanted = 0;
  for (const auto& s : running) {
    produced += s->generated() + kTokensPerRetry;
    wanted += s->request.max_new_tokens;
  }
  ratio_ = wanted > 0 ? std::clamp(produced / wanted, ratio_, 1.0) : kInitial;
}

}  // namespace foretoken
