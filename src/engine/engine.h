#pragma once
// Engine: one thread that owns the scheduler, the caches and the models, and the inbox through
// which other threads talk to it. Not an HTTP server and not text: token ids only.
//   loop      take in, plan, launch the step, retire a step; with a ring of more than one step a
//             second thread computes them while the next one is planned
//   threads   public methods are safe from any thread: they enqueue
//   ends      a submitted request ends with exactly one Finish on its stream
//   memory    where an allocation fails inside of a step, the running requests end with that
//             reason, and the engine goes on

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/ops.h"
#include "base/error.h"
#include "batch/logit_slices.h"
#include "draft/drafter.h"
#include "engine/engine_port.h"
#include "engine/idle_memory.h"
#include "engine/request.h"
#include "model/target_model.h"

namespace foretoken {

enum class SchedulePolicy { kFcfs, kLpm, kRandom };

struct EngineConfig {
  int max_running_requests = 64;
  int max_queued_requests = 0;     // 0: no limit
  int total_tokens = 0;            // KV capacity; its last page may hold less than it could
  int context_length = 0;          // prompt + output limit of one request
  int chunked_prefill_size = 512;  // rows of one step shared by chunks and trees; <= 0: no chunking
  int max_prefill_tokens = 16384;  // prompt tokens of one step
  int decode_log_interval = 40;    // steps between "Decode batch" lines
  SchedulePolicy policy = SchedulePolicy::kFcfs;
  // Requests differ in rank, and are served first come first served among equals: a full queue lets
  // its last go for one of lower rank.
  bool has_ranks = false;
  // One that waits takes the place of running ones whose rank is larger by more than this; absent:
  // of none.
  std::optional<std::int64_t> preemption_gap;
  std::uint64_t policy_seed = 0;       // of kRandom
  int output_estimate_clip = 4096;     // output tokens that admission plans for, per request
  double waiting_timeout_seconds = 0;  // a request waits no longer; 0: no limit
  double running_timeout_seconds = 0;  // nor runs longer since it was admitted last
  bool radix_cache = true;
  std::optional<int> state_snapshots;  // of the prefix cache; absent: by max_running_requests
  int ring_depth = 1;   // steps that may be in flight; more than one: a thread computes them
  bool greedy = false;  // every request is decoded as at temperature 0, whatever it asks for
  std::size_t logit_slice_bytes = kLogitSliceBytes;  // of logits that are in memory at once
  IdleTimes idle;                                    // after which memory goes back to the system
  int force_preempt_every = 0;   // test hook: preempt the youngest every n steps; 0: never
  bool check_integrity = false;  // test hook: check all invariants after each step
};

class Engine : public EnginePort {
 public:
  // References outlive the engine.
  Engine(const EngineConfig& config, Ops& ops, TargetModel& target, Drafter& drafter);
  ~Engine() override;  // stop(now)

  // Called once, by the engine's thread, when the device is lost: nothing is computed from then on,
  // and all requests end with that reason. Before start().
  void on_device_lost(std::function<void()> told);
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
  std::future<std::string> check_integrity() override;
  std::future<void> pause(Pause how) override;
  void resume() override;

  const EngineConfig& config() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace foretoken
