#include "engine/scheduler.h"

#include <memory>
#include <utility>

namespace foretoken {

void Scheduler::drop_ended() {
  for (Sequence* s : roster_.take_cancelled()) cancel(*s);
  while (const auto overdue = roster_.next_overdue(planned_at_))
    end(*overdue->sequence, FinishReason::kDeadline, overdue->message);
  remove_released();
}

void Scheduler::abort(const std::string& id) {
  for (Sequence* s : roster_.named(id)) cancel(*s);
  remove_released();
}

// In SGLang's words.
void Scheduler::cancel(Sequence& s) {
  end(s, FinishReason::kCancelled, s.is_running() ? "Aborted" : "Abort in waiting queue");
}

// A queue of ranks that is too long loses its last; those that have run are not lost.
void Scheduler::displace() {
  const auto limit = static_cast<std::size_t>(config_.max_queued_requests);
  if (!config_.has_ranks || limit == 0 || waiting_.size() <= limit) return;
  Sequence* last = waiting_.last_new();
  if (last == nullptr) return;
  const bool is_newest = last->arrival + 1 == arrivals_;
  end(*last, FinishReason::kDisplaced,
      is_newest ? "The request queue is full."
                : "The request is aborted by a higher priority request.");
}

// Of a sequence that waits or runs; one that runs is removed by remove_released().
void Scheduler::end(Sequence& s, FinishReason reason, const std::string& message) {
  const std::unique_ptr<Sequence> owner = s.is_running() ? nullptr : waiting_.take(s);
  finish(s, reason, message);
}

void Scheduler::cancel_all() {
  for (auto& s : running_) cancel(*s);
  remove_released();
  while (!waiting_.empty()) cancel(waiting_.first());
}

void Scheduler::fail_all(FinishReason reason, const std::string& message) {
  for (auto& s : running_) finish(*s, reason, message);
  remove_released();
  while (!waiting_.empty()) end(waiting_.first(), reason, message);
}

void Scheduler::finish(Sequence& s, FinishReason reason, const std::string& message) {
  finish(s, Finish{.reason = reason, .stop_token = kNoToken, .message = message});
}

void Scheduler::finish(Sequence& s, Finish end) {
  if (s.is_running()) release(s);
  roster_.remove(s);
  const bool is_complete = end.reason == FinishReason::kStop || end.reason == FinishReason::kLength;
  ++(is_complete ? stats_.finished_requests : stats_.aborted_requests);
  s.request.stream->push(s.take_last_delta(std::move(end)));
}

void Scheduler::release(Sequence& s) {
  stats_.drafts.add(s.drafts);
  pages_.close(s);
  SlotChange& leaving = changes_.emplace_back();
  leaving.kind = SlotChange::Kind::kClose;
  leaving.slot = s.slot;
  running_.free_slot(s);
  s.left();
}

}  // namespace foretoken
