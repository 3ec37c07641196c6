#pragma once
// StepLog: SGLang's "Prefill batch" and "Decode batch" lines and the rates in them; and a line of
// ours that says why little is drafted. It counts what it is told and knows no scheduler. Engine
// thread only.

#include <chrono>
#include <cstdint>
#include <string_view>

#include "engine/engine_port.h"

namespace foretoken {

// What the lines say about the moment.
struct EngineLoad {
  int running = 0;  // requests that decode
  int queued = 0;
  int used_tokens = 0;
  int total_tokens = 0;
  std::int64_t pending_tokens = 0;  // prompt tokens still to be computed, waiting requests included
};

struct PrefillFacts {
  int new_sequences = 0;
  int text_tokens = 0;    // of the new sequences
  int new_tokens = 0;     // prompt rows of this step
  int cached_tokens = 0;  // of text_tokens, those found in the prefix cache
};

class StepLog {
 public:
  using Clock = std::chrono::steady_clock;

  // interval: decode steps from line to line.
  explicit StepLog(int interval) : interval_(interval) {}

  // One line per step with prompt rows.
  void prefill(const PrefillFacts& facts, const EngineLoad& load);

  // Counts one decode step; true when its line is due.
  bool count_decode_step();
  // `totals`: the counters since start; the line speaks of what was added since the last one.
  // Returns the generation throughput in tokens per second.
  double decode(const EngineStats& totals, const EngineLoad& load);

  // Once a minute: in how many steps something was drafted since the last such line, and why in no
  // more. No line where most steps had drafts, unless the last line said otherwise.
  void drafts(const EngineStats& totals, Clock::time_point now = Clock::now());

  // The engine was idle: rates start anew.
  void restart_clock(const EngineStats& totals);

 private:
  int interval_;
  int decode_steps_ = 0;
  Clock::time_point last_decode_ = Clock::now();
  Clock::time_point last_prefill_ = Clock::now();
  int last_prefill_tokens_ = 0;
  EngineStats last_;
  EngineStats last_drafts_;
  Clock::time_point drafts_told_ = Clock::now();
  std::string_view told_reason_;
};

}  // namespace foretoken
