#include "engine/scheduler.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "base/rng.h"

namespace foretoken {

// Window by window of the queue, for as long as all of a window could be admitted.
void Scheduler::admit(StepOrder& plan, int& prompt_rows) {
  if (waiting_.empty() || prompt_rows <= 0 || !running_.has_free_slot()) return;
  computing_.clear();
  reserved_pages_ = 0;
  for (const auto& s : running_) {
    reserved_pages_ += reserved_pages(*s);
    if (!s->is_planted) computing_.push_back(s.get());
  }
  const AdmissionPolicy policy{config_.policy, mix_seed(config_.policy_seed, stats_.steps)};
  for (bool all_left = true; all_left && !waiting_.empty();) {
    for (Sequence* candidate : admission_order(waiting_.queue(), policy, cache_, arrivals_)) {
      if (prompt_rows <= 0 || !running_.has_free_slot()) return;
      if (config_.radix_cache && prefix_is_coming(*candidate, computing_, cache_))
        all_left = false;
      else if (try_admit(*candidate, plan, prompt_rows) == Admission::kMustWait)
        return;
    }
  }
}

int Scheduler::reserved_pages(const Sequence& s) const {
  return std::max(0, pages_for(s.size() + reserve_.tokens(s)) - static_cast<int>(s.pages.size()));
}

bool Scheduler::fits(const Sequence& s, const SequencePages::Prospect& cached, int more) const {
  const int output = running_.empty() ? 0 : reserve_.tokens(s);
  const int wanted = pages_for(s.size() + output) - cached.pages + reserved_pages_;
  return wanted <= pages_.available() - cached.evictable + more;  // what is reused is not evicted
}

bool Scheduler::must_wait(const Sequence& s, const SequencePages::Prospect& cached,
                          const StepPlan& plan, int prompt_rows) const {
  const int rows = s.pending_rows() - cached.pages * kPageTokens;
  if (rows > prompt_rows && config_.chunked_prefill_size <= 0 && plan.prompt_tokens > 0)
    return true;
  return !running_.empty() && !fits(s, cached);
}

// Whether it must wait is decided before its pages are collected: it is asked again in every step.
Scheduler::Admission Scheduler::try_admit(Sequence& s, StepOrder& plan, int& prompt_rows) {
  SequencePages::Prospect cached = pages_.look_up(s);
  if (must_wait(s, cached, plan, prompt_rows)) {
    pages_.touch(s, cached);
    return Admission::kMustWait;
  }
  std::vector<Page> matched = pages_.match(s);
  cached = {.pages = static_cast<int>(matched.size()), .evictable = 0};  // held now
  if (must_wait(s, cached, plan, prompt_rows)) return Admission::kMustWait;

  const int cached_tokens = cached.pages * kPageTokens;
  if (s.admitted(cached_tokens)) {
    stats_.prompt_tokens += static_cast<std::uint64_t>(s.prompt_tokens());
    stats_.cached_prompt_tokens += static_cast<std::uint64_t>(cached_tokens);
    const auto waited = planned_at_ - s.request.accepted;
    stats_.queue_time.add(std::chrono::duration<double>(waited).count());
  }
  if (s.pending_rows() == cached_tokens) {  // nothing to sample or score
    end(s, FinishReason::kLength, {});
    return Admission::kEnded;
  }
  if (!fits(s, cached)) {
    end(s, FinishReason::kOutOfMemory, "The KV cache has no room for the text of this request.");
    return Admission::kEnded;
  }
  run(waiting_.take(s), std::move(matched));
  ++prefill_.new_sequences;
  prefill_.text_tokens += s.size();
  prefill_.cached_tokens += cached_tokens;
  const int chunk = chunk_rows(s, prompt_rows, plan);
  plan_prompt(plan, s, chunk);
  prompt_rows -= chunk;
  return Admission::kAdmitted;
}

// Gives it slot and pages.
void Scheduler::run(std::unique_ptr<Sequence> owner, std::vector<Page> matched) {
  Sequence& s = *owner;
  s.tokens.share();  // with drafters that read them bit by bit
  SlotOpening opening{.draft = {.tokens = s.tokens,
                                .prompt_tokens = at(s.prompt_tokens()),
                                .scope = s.request.draft_scope,
                                .prediction = s.request.prediction,
                                .constraint = s.constraint(),
                                .wish = s.request.draft_wish},
                      .params = &s.request.sampling,
                      .stored = static_cast<std::int32_t>(matched.size()) * kPageTokens,
                      .max_new = s.request.max_new_tokens};
  if (!matched.empty())
    if (const Page state = cache_.state_behind(matched.back().id())) opening.snapshot = state.id();
  s.branch = pages_.branch_of(s);
  const SeqSlot slot = running_.take_slot();
  changes_.push_back({.slot = slot, .opening = std::move(opening)});
  pages_.open(s, slot, std::move(matched));
  CHECK(pages_.grow(s, s.size())) << "pages counted as available were not";
  if (scratch_slots_ > 0) pages_.grow(s, s.size() + scratch_slots_);  // the drafter can do without
  roster_.runs(s, planned_at_);
  reserved_pages_ += reserved_pages(s);
  computing_.push_back(&s);
  running_.add(std::move(owner));
}

}  // namespace foretoken
