#include "engine/scheduler.h"

#include <utility>

#include "base/log.h"

namespace foretoken {

// Null: it has left meanwhile.
Sequence* Scheduler::owner_of(const StepEntry& entry) const {
  Sequence* running = running_.in_slot(entry.slot);
  return running != nullptr && running->arrival == entry.owner ? running : nullptr;
}

// The last tokens of a text go with what its drafts came to.
void Scheduler::tell(const StepOrder& order, StepResult& result) {
  for (std::size_t i = 0; i < order.entries.size(); ++i) {
    const StepEntry& entry = order.entries[i];
    SeqOutcome& outcome = result.outcomes[i];
    Sequence* running = owner_of(entry);
    if (running == nullptr || outcome.is_last) continue;
    commit(*running, entry, outcome, result.walk.seqs[i]);
    outcome.is_told = true;
  }
}

void Scheduler::retire(StepHandle& step) {
  StepResult& result = step.wait();
  const StepOrder& order = step.order();
  ++retired_;
  bool has_decoded = false;
  for (std::size_t i = 0; i < order.entries.size(); ++i) {
    const StepEntry& entry = order.entries[i];
    Sequence* running = owner_of(entry);
    if (running == nullptr) continue;
    SeqOutcome& outcome = result.outcomes[i];
    running->nodes = outcome.next_nodes;
    running->drafts = outcome.report;
    if (!outcome.is_told) commit(*running, entry, outcome, result.walk.seqs[i]);
    has_decoded = has_decoded || (entry.has_tree && entry.chain.empty());
  }
  remove_released();
  running_.free_left(retired_);
  if (order.entries.empty()) return;
  stats_.last_step = Clock::now();
  count_step(order, result.seconds, has_decoded);
  if (!has_decoded) return;
  reserve_.relax();
  if (!log_.count_decode_step()) return;
  stats_.gen_throughput = log_.decode(stats_, load());
  log_.drafts(stats());
}

void Scheduler::commit(Sequence& s, const StepEntry& entry, SeqOutcome& outcome, WalkSeq& walk) {
  s.offered(outcome.drafts);
  stats_.proposed_drafts += static_cast<std::uint64_t>(outcome.drafts);
  const int generated = s.generated(), accepted = s.accepted_drafts();
  const int verified = s.verify_steps();
  if (entry.snapshot >= 0) pages_.take_states(s, outcome.state_tokens);
  std::optional<Finish> end = s.commit(entry, walk);
  if (outcome.trace) s.traced(*std::move(outcome.trace), s.generated() - generated);
  stats_.generated_tokens += static_cast<std::uint64_t>(s.generated() - generated);
  stats_.accepted_drafts += static_cast<std::uint64_t>(s.accepted_drafts() - accepted);
  stats_.verify_steps += static_cast<std::uint64_t>(s.verify_steps() - verified);
  if (end && end->reason == FinishReason::kVoid && !std::exchange(tells_void_, true))
    log_error("{}; requests end with this error", end->message);
  if (end) return finish(s, std::move(*end));
  if (!entry.chain.empty()) pages_.publish(s);
  if (s.has_news()) s.request.stream->push(s.take_delta());
}

void Scheduler::count_step(const StepPlan& plan, const StepSeconds& seconds, bool has_decoded) {
  const int prompt_tokens = plan.prompt_tokens;
  double& total = prompt_tokens == 0 ? stats_.decode_step_seconds
                  : has_decoded      ? stats_.mixed_step_seconds
                                     : stats_.prompt_step_seconds;
  total += seconds.verify + seconds.draft;
  stats_.computed_prompt_tokens += static_cast<std::uint64_t>(prompt_tokens);
  if (!has_decoded) return;
  stats_.verify_time.add(seconds.verify);
  stats_.draft_time.add(seconds.draft);
}

}  // namespace foretoken
