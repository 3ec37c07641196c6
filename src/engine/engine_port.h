#pragma once
// EnginePort: what a front end may ask of an engine, and nothing else. Engine implements it; tests
// of the server implement it with a script instead of a model. Methods are safe from any thread and
// return at once.

#include <chrono>
#include <cstdint>
#include <future>
#include <optional>
#include <string>

#include "base/error.h"
#include "engine/durations.h"
#include "engine/request.h"

namespace foretoken {

// A snapshot for /server_info, /metrics and the log.
struct EngineStats {
  std::string fault;  // why nothing is computed any more; empty: it is
  int running = 0;
  int queued = 0;
  int total_tokens = 0;       // capacity
  int used_tokens = 0;        // in pages held by running sequences
  int cached_tokens = 0;      // in pages held only by the prefix cache
  double gen_throughput = 0;  // tokens/s over the last logging interval
  std::uint64_t steps = 0;
  std::chrono::steady_clock::time_point last_step;  // when one ended
  std::uint64_t prompt_tokens = 0;                  // counters since start
  std::uint64_t cached_prompt_tokens = 0;
  std::uint64_t generated_tokens = 0;
  std::uint64_t finished_requests = 0;
  std::uint64_t aborted_requests = 0;
  std::uint64_t retractions = 0;
  double cache_hit_rate = 0;       // cached / all tokens of the texts admitted last
  std::uint64_t verify_steps = 0;  // decode steps, one per sequence; not the ends of prompts
  std::uint64_t accepted_drafts = 0;
  std::uint64_t proposed_drafts = 0;
  DraftReport drafts;
  std::uint64_t computed_prompt_tokens = 0;  // rows of prompts, those computed again included
  // Seconds that steps took, by what they computed.
  double prompt_step_seconds = 0;
  double decode_step_seconds = 0;
  double mixed_step_seconds = 0;
  Durations queue_time;   // of requests, from their acceptance to their admission
  Durations verify_time;  // of steps that decode: forward, sampling, keeping what was accepted
  Durations draft_time;   // of the same steps: reading what was committed, growing new trees
};

// What becomes of running requests in a pause: they keep their pages, or give them back and are
// computed again afterwards.
enum class Pause { kInPlace, kRetract };

class EnginePort {
 public:
  virtual ~EnginePort() = default;

  // Nullopt: accepted, the stream will end with exactly one Finish. Otherwise the reason (queue
  // full, too long, stopping).
  virtual std::optional<Refusal> submit(Request request) = 0;
  virtual void abort(const std::string& id) = 0;  // that id, or ids "<id>_<n>" of its choices
  virtual void abort_all() = 0;
  // False when something is running, or waiting unless it is paused.
  virtual std::future<bool> flush_cache() = 0;
  virtual EngineStats stats() const = 0;
  // One sentence naming the first broken invariant of pages, cache and sequences; empty: all hold.
  // Walks all of them between two steps.
  virtual std::future<std::string> check_integrity() = 0;
  // No step is computed until resume(), or the engine's end; requests are accepted, cancelled and
  // run out of time as ever. The answer comes when no step is in flight any more.
  virtual std::future<void> pause(Pause how) = 0;
  virtual void resume() = 0;
};

}  // namespace foretoken
