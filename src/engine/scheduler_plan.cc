#include "engine/scheduler.h"

#include <algorithm>
#include <utility>

#include "engine/step_memory.h"

namespace foretoken {

std::optional<StepOrder> Scheduler::plan() {
  prefill_ = {};
  retracted_ = retracted_tokens_ = 0;
  planned_at_ = Clock::now();
  drop_ended();
  if (is_ahead() && must_drain()) return std::nullopt;
  wants_drain_ = false;
  StepOrder plan;
  if (!is_paused())
    plan_rows(plan);
  else if (*pause_ == Pause::kRetract)
    while (!running_.empty()) preempt(running_.youngest());
  report_plan(plan);
  if (plan.entries.empty() && (is_ahead() || !has_news())) return std::nullopt;
  if (!plan.entries.empty()) ++stats_.steps;
  plan.changes = std::exchange(changes_, {});
  ++planned_;
  return plan;
}

void Scheduler::plan_rows(StepOrder& plan) {
  preempt_for_test();
  make_way();
  int prompt_rows = prompt_row_budget();
  const int made_way = retracted_;
  plan_running(plan, prompt_rows);
  // What was preempted for lack of pages must not take them back at once.
  const bool pages_ran_short =
      wants_drain_ || (retracted_ > made_way && config_.force_preempt_every == 0);
  if (!pages_ran_short) admit(plan, prompt_rows);
}

// Decodes take their rows first, but prompts keep a quarter of a step, so neither starves.
int Scheduler::prompt_row_budget() const {
  const int chunk = config_.chunked_prefill_size;
  if (chunk <= 0) return std::max(1, config_.max_prefill_tokens);
  int decode_rows = 0;
  for (const auto& s : running_)
    if (s->is_rooted) decode_rows += s->nodes;
  const int rest = std::max(chunk - decode_rows, chunk / 4);
  return std::max(1, std::min(rest, config_.max_prefill_tokens));
}

// How many of its pending rows a prompt gets. Without chunking it is cut only when it exceeds a
// whole step.
int Scheduler::chunk_rows(const Sequence& s, int budget, const StepPlan& plan) const {
  const int pending = s.pending_rows();
  if (pending > budget && config_.chunked_prefill_size <= 0 && plan.prompt_tokens > 0) return 0;
  int rows = std::min(pending, budget);
  if (s.branch > s.planned) rows = std::min(rows, s.branch - s.planned);
  return s.is_scoring() ? std::min(rows, s.rows_before_scores() + kScoredRows) : rows;
}

void Scheduler::plan_running(StepOrder& plan, int& prompt_rows) {
  for (std::size_t i = 0; i < running_.size(); ++i) {  // make_room may take away the last ones
    Sequence& s = *running_.by_arrival()[i];
    if (s.is_sure_to_end()) continue;
    if (s.is_rooted) {
      const int nodes = is_ahead() ? make_room_ahead(s) : make_room(s);
      if (nodes == 0) continue;
      plan.entries.push_back(s.plan_tree(nodes));
      pages_.plan_states(s, s.stored, plan.entries.back());
    } else if (const int rows = chunk_rows(s, prompt_rows, plan); rows > 0) {
      plan_prompt(plan, s, rows);
      prompt_rows -= rows;
    }
  }
  remove_released();
}

void Scheduler::plan_prompt(StepOrder& plan, Sequence& s, int rows) {
  const int stored = s.planned;
  plan.entries.push_back(s.plan_prompt(rows));
  pages_.plan_states(s, stored, plan.entries.back());
  plan.prompt_tokens += rows;
  prefill_.new_tokens += rows;
}

}  // namespace foretoken
