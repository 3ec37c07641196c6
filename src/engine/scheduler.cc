#include "engine/scheduler.h"

#include <chrono>
#include <new>
#include <utility>

namespace foretoken {
namespace {

Roster::Limits limits_of(const EngineConfig& config) {
  const auto seconds = [](double count) {
    return std::chrono::duration_cast<Roster::Clock::duration>(
        std::chrono::duration<double>(count));
  };
  return {.waiting = seconds(config.waiting_timeout_seconds),
          .running = seconds(config.running_timeout_seconds)};
}

}  // namespace

Scheduler::Scheduler(const EngineConfig& config, const Parts& parts, const EngineStats& before)
    : config_(config),
      cache_(parts.cache),
      max_nodes_(parts.max_nodes),
      scratch_slots_(parts.scratch_slots),
      pages_(parts.pool, parts.cache, changes_),
      reserve_(config.output_estimate_clip),
      log_(config.decode_log_interval),
      roster_(limits_of(config)),
      running_(parts.slots),
      stats_(before) {
  stats_.total_tokens = config.total_tokens;
}

void Scheduler::add(std::unique_ptr<Sequence> accepted) {
  accepted->is_accepted = true;
  accepted->arrival = arrivals_++;
  try {
    roster_.add(*accepted);
    roster_.waits(*accepted, Clock::now());
    waiting_.add(accepted);
    displace();
  } catch (const std::bad_alloc&) {
    roster_.remove(*accepted);
    ++stats_.aborted_requests;
  }
}

void Scheduler::end_running(FinishReason reason, const std::string& message) {
  for (const auto& s : running_)
    if (s && !s->request.stream->finished()) {
      s->end_stream(reason, message);
      ++stats_.aborted_requests;
    }
}

WaitQueue Scheduler::abandon() {
  cache_.clear();
  for (const auto& s : running_)
    if (s && !s->request.stream->finished()) ++stats_.aborted_requests;
  running_.clear();
  return waiting_.take_all();
}

bool Scheduler::flush_cache() {
  if (!running_.empty() || (!waiting_.empty() && !is_paused())) return false;
  cache_.clear();
  changes_.emplace_back().kind = SlotChange::Kind::kForget;
  return true;
}

}  // namespace foretoken
