#pragma once
// Engine: one thread that owns the scheduler, the caches and the models, and the inbox through
// which other threads talk to it. Its loop: intake; plan; launch the step; retire a step. Not an
// HTTP server and not text: token ids only. Public methods are safe from any thread; they enqueue.
// A submitted request always ends with exactly one Finish on its stream.

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "backend/ops.h"
#include "base/error.h"
#include "engine/engine_port.h"
#include "engine/request.h"
#include "model/target_model.h"
#include "spec/drafter.h"

namespace foretoken {

enum class SchedulePolicy { kFcfs, kLpm };

struct EngineConfig {
  int max_running_requests = 64;
  int max_queued_requests = 0;     // 0: no limit
  int total_tokens = 0;            // KV capacity in tokens (rounded down to pages)
  int context_length = 0;          // prompt + output limit of one request
  int chunked_prefill_size = 512;  // rows of one step shared by chunks and trees; <= 0: no chunking
  int max_prefill_tokens = 16384;  // prompt tokens of one step
  int decode_log_interval = 40;    // steps between "Decode batch" lines
  SchedulePolicy policy = SchedulePolicy::kFcfs;
  bool radix_cache = true;
  int force_preempt_every = 0;   // test hook: preempt the youngest every n steps; 0: never
  bool check_integrity = false;  // test hook: check all invariants after each step
};

class Engine : public EnginePort {
 public:
  // References outlive the engine.
  Engine(const EngineConfig& config, Ops& ops, TargetModel& target, Drafter& drafter);
  ~Engine() override;  // stop(now)

  void start();
  // Refuses new requests, finishes the running and queued ones until `grace` has passed, then fails
  // the rest with kShutdown. Returns when the thread has ended.
  void stop(std::chrono::milliseconds grace);

  // EnginePort
  std::optional<Refusal> submit(Request request) override;
  void abort(const std::string& id) override;
  void abort_all() override;
  std::future<bool> flush_cache() override;
  EngineStats stats() const override;

  std::future<std::string> check_integrity();  // empty: all invariants hold
  const EngineConfig& config() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace foretoken
