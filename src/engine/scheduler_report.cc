#include "engine/scheduler.h"

#include <algorithm>

#include "base/log.h"

namespace foretoken {

EngineStats Scheduler::stats() const {
  EngineStats stats = stats_;
  stats.running = static_cast<int>(running_.size());
  stats.queued = queued();
  // Whole pages count, and the last of all may hold less.
  stats.used_tokens = std::min(pages_.used_tokens(), stats.total_tokens);
  stats.cached_tokens = std::min(pages_.cached_tokens(), stats.total_tokens - stats.used_tokens);
  for (const auto& s : running_) stats.drafts.add(s->drafts);  // others' are counted already
  return stats;
}

EngineLoad Scheduler::load() const {
  EngineLoad load{.running = static_cast<int>(running_.size()),
                  .queued = queued(),
                  .used_tokens = pages_.used_tokens(),
                  .total_tokens = stats_.total_tokens,
                  .pending_tokens = waiting_.pending_rows()};
  for (const auto& s : running_) load.pending_tokens += s->pending_rows();
  return load;
}

void Scheduler::report_plan(const StepPlan& plan) {
  if (retracted_ > 0) {
    const double before = reserve_.ratio();
    if (config_.force_preempt_every == 0) reserve_.tighten(running_.by_arrival());
    log_info("{} #retracted_reqs: {}, #new_tokens_gained: {}, #new_token_ratio: {:.4f} -> {:.4f}",
             config_.force_preempt_every > 0 ? "Testing retraction."
                                             : "KV cache pool is full. Retract requests.",
             retracted_, retracted_tokens_, before, reserve_.ratio());
  }
  if (prefill_.text_tokens > 0)
    stats_.cache_hit_rate = static_cast<double>(prefill_.cached_tokens) / prefill_.text_tokens;
  if (plan.prompt_tokens == 0 || !log_enabled(LogLevel::kInfo)) return;
  EngineLoad now = load();
  now.running -= prefill_.new_sequences;
  log_.prefill(prefill_, now);
}

}  // namespace foretoken
