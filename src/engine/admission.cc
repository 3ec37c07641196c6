#include "engine/admission.h"

#include <algorithm>
#include <utility>

#include "base/index.h"
#include "base/rng.h"
#include "batch/state_blocks.h"

namespace foretoken {
namespace {

// How many of the queue are compared with each other in a step. More would cost more than their
// order gains; the rest keep their turn.
constexpr std::size_t kWindow = 128;
constexpr std::uint64_t kPatience = 64;  // later arrivals that may pass a waiting one
constexpr int kTokensPerRetry = 20;      // a preempted batch should run at least this much further

struct Candidate {
  Sequence* sequence;
  bool goes_first;
  std::uint64_t rank;  // the smaller the earlier
};

std::uint64_t rank_of(Sequence& s, const AdmissionPolicy& policy, const RadixCache& cache) {
  if (policy.order == SchedulePolicy::kRandom) return mix_seed(policy.seed, s.arrival);
  const int pages = s.reusable_tokens() / kPageTokens;
  s.cached_pages_guess = cache.peek(s.hashes, pages, s.cached_pages_guess);
  return ~std::uint64_t{0} - at(s.cached_pages_guess);
}

// Of a text as long as it is now.
int last_state_page(const Sequence& s) {
  return state_block(s.size()) * kStateTokens / kPageTokens;
}

}  // namespace

std::vector<Sequence*> admission_order(const WaitQueue& queue, const AdmissionPolicy& policy,
                                       const RadixCache& cache, std::uint64_t arrivals) {
  std::vector<Sequence*> order;
  order.reserve(std::min(queue.size(), kWindow));
  for (auto it = queue.begin(); it != queue.end() && order.size() < kWindow; ++it)
    order.push_back(it->second.get());
  if (policy.order == SchedulePolicy::kFcfs) return order;

  std::vector<Candidate> candidates;
  candidates.reserve(order.size());
  for (Sequence* s : order) {
    // Of all that arrived later, those that wait no longer have passed it.
    const std::uint64_t later = arrivals - s->arrival - 1;
    const std::uint64_t waiting_later = queue.size() - candidates.size() - 1;
    const bool goes_first = s->retractions() > 0 || later - waiting_later >= kPatience;
    candidates.push_back({s, goes_first, goes_first ? s->arrival : rank_of(*s, policy, cache)});
  }
  std::ranges::stable_sort(candidates, [](const Candidate& a, const Candidate& b) {
    return a.goes_first != b.goes_first ? a.goes_first : a.rank < b.rank;
  });
  std::ranges::transform(candidates, order.begin(), &Candidate::sequence);
  return order;
}

bool prefix_is_coming(const Sequence& waiting, std::span<const Sequence* const> computing,
                      const RadixCache& cache) {
  const int usable = waiting.reusable_tokens() / kPageTokens;
  int longest = 0;
  for (const Sequence* other : computing) {
    // What the other will have stored, and so published, when its prompt is done.
    const int coming = std::min((other->size() - 1) / kPageTokens, other->hashes.pages());
    const int limit = std::min(usable, coming);
    if (limit <= longest) continue;
    const int common = waiting.hashes.common_pages(other->hashes, limit);
    // A state is kept at the end of the prompt.
    if (cache.needs_states() && common < last_state_page(*other)) continue;
    longest = std::max(longest, cache.needs_states() ? last_state_page(*other) : common);
  }
  return longest > 0 && !cache.holds(waiting.hashes.of(longest));
}

int OutputReserve::tokens(const Sequence& s) const {
  return static_cast<int>(std::min(s.tokens_left(), clip_) * ratio_);
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
