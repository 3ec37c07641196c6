#pragma once
// Scheduler: continuous batching. It decides what each step computes (plan) and takes over what the
// step found (retire). It computes nothing and knows no threads. Engine thread only.
//
// A step may be planned while earlier ones are in flight. What those will find is not known then:
// the plan holds for every outcome, and what needs certainty waits until no step is in flight.
//
// Each behaviour has its own file:
//   scheduler.cc          what enters, and what is left when memory ran out
//   scheduler_plan.cc     rows of a step: decodes first, then chunks of prompts
//   scheduler_admit.cc    waiting sequences that get a slot and pages
//   scheduler_room.cc     pages for a step: what is given up when they run short, preemption
//   scheduler_retire.cc   what a step found
//   scheduler_leave.cc    ways out: finish, cancel, deadline, abort
//   scheduler_report.cc   figures and log lines
//   scheduler_check.cc    invariants
//
// Invariants: a request is either waiting or running; it leaves with exactly one Finish.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/admission.h"
#include "engine/engine.h"
#include "engine/roster.h"
#include "engine/running_set.h"
#include "engine/sequence.h"
#include "engine/sequence_pages.h"
#include "engine/slot_change.h"
#include "engine/step_log.h"
#include "engine/step_runner.h"
#include "engine/waiting_set.h"

namespace foretoken {

class Scheduler {
 public:
  struct Parts {
    PagePool& pool;
    RadixCache& cache;
    int slots = 0;
    int max_nodes = 1;      // of the tree of one sequence
    int scratch_slots = 0;  // that the drafter writes behind the text of each sequence
  };
  // `before`: what an abandoned scheduler has counted.
  Scheduler(const EngineConfig& config, const Parts& parts, const EngineStats& before = {});

  void add(Request request) { add(std::make_unique<Sequence>(std::move(request))); }
  // Without memory for it the request ends with that reason.
  void add(std::unique_ptr<Sequence> accepted);
  void abort(const std::string& id);  // that id, or ids "<id>_<n>" of its choices
  void cancel_all();
  void fail_all(FinishReason reason, const std::string& message);

  // What the next step computes. nullopt: there is nothing to do, or nothing until steps in flight
  // are retired. A plan without entries only tells which sequences have left. Its spans stay valid
  // until the step is retired.
  std::optional<StepOrder> plan();
  // Sends what the step has found, before its drafts are made, to those whose texts go on. Only where
  // one step is in flight, on its engine thread.
  void tell(const StepOrder& order, StepResult& result);
  // Steps are retired in the order of their plans.
  void retire(StepHandle& step);

  // After memory ran out inside of any of these, which may leave anything half done: ends the
  // running sequences, empties the cache, and returns the waiting ones for the next scheduler of
  // the same parts. Afterwards only stats() may be called. Allocates nothing.
  WaitQueue abandon();
  // The streams of those that run end so, nothing else; abandon() follows.
  void end_running(FinishReason reason, const std::string& message);

  // Until resume(), plans tell only who has left. kRetract: all running ones wait again, as soon as
  // no step is in flight.
  void pause(Pause how) { pause_ = how; }
  void resume() { pause_.reset(); }
  bool is_paused() const { return pause_.has_value(); }
  std::optional<Pause> paused() const { return pause_; }

  bool is_idle() const { return waiting_.empty() && running_.empty(); }
  // Whether the next step must be told of a change, even where it computes nothing.
  bool has_news() const { return !changes_.empty(); }
  int queued() const { return static_cast<int>(waiting_.size()); }
  bool flush_cache();  // false, and nothing done, unless idle, or paused with nothing running
  EngineStats stats() const;
  void restart_clock() { log_.restart_clock(stats_); }  // after idle time: rates start anew
  // Empty: all invariants hold. step: with what the device has, while no step is in flight.
  std::string check_integrity(Step* step) const;

 private:
  using Clock = Roster::Clock;
  enum class Admission { kAdmitted, kEnded, kMustWait };

  // scheduler_plan.cc
  bool is_ahead() const { return planned_ > retired_; }  // steps are in flight
  bool must_drain() const { return wants_drain_ || is_paused() || is_time_to_preempt(); }
  void plan_rows(StepOrder& plan);
  void plan_running(StepOrder& plan, int& prompt_rows);
  void plan_prompt(StepOrder& plan, Sequence& sequence, int rows);
  int prompt_row_budget() const;
  int chunk_rows(const Sequence& sequence, int budget, const StepPlan& plan) const;

  // scheduler_admit.cc
  void admit(StepOrder& plan, int& prompt_rows);
  Admission try_admit(Sequence& candidate, StepOrder& plan, int& prompt_rows);
  bool must_wait(const Sequence& candidate, const SequencePages::Prospect& cached,
                 const StepPlan& plan, int prompt_rows) const;
  // more: pages that could be had besides.
  bool fits(const Sequence& candidate, const SequencePages::Prospect& cached, int more = 0) const;
  int reserved_pages(const Sequence& running) const;
  void run(std::unique_ptr<Sequence> sequence, std::vector<Page> matched);

  // scheduler_room.cc
  int make_room(Sequence& sequence);
  int make_room_ahead(Sequence& sequence);
  bool is_time_to_preempt() const;
  void preempt_for_test();
  void make_way();
  void preempt(Sequence& sequence);

  // scheduler_retire.cc
  Sequence* owner_of(const StepEntry& entry) const;
  void commit(Sequence& sequence, const StepEntry& entry, SeqOutcome& outcome, WalkSeq& walk);
  void count_step(const StepPlan& plan, const StepSeconds& seconds, bool has_decoded);

  // scheduler_leave.cc
  void drop_ended();
  void finish(Sequence& sequence, FinishReason reason, const std::string& message);
  void finish(Sequence& sequence, Finish reason);
  void end(Sequence& sequence, FinishReason reason, const std::string& message);
  void cancel(Sequence& sequence);
  void displace();
  void release(Sequence& sequence);
  void remove_released() { running_.drop_left(planned_ + 1); }

  // scheduler_report.cc, scheduler_check.cc
  void report_plan(const StepPlan& plan);
  EngineLoad load() const;
  std::string check_device(Step& step) const;

  const EngineConfig& config_;
  RadixCache& cache_;
  const int max_nodes_, scratch_slots_;
  std::vector<SlotChange> changes_;  // for the next step
  SequencePages pages_;
  OutputReserve reserve_;
  StepLog log_;

  Roster roster_;
  WaitingSet waiting_;
  RunningSet running_;
  std::uint64_t arrivals_ = 0;
  EngineStats stats_;

  std::uint64_t planned_ = 0, retired_ = 0;  // steps
  bool tells_void_ = false;                  // once is enough: see FinishReason::kVoid
  bool wants_drain_ = false;                 // something waits until no step is in flight
  std::optional<Pause> pause_;

  // Facts of the plan being made.
  Clock::time_point planned_at_ = Clock::now();
  std::vector<const Sequence*> computing_;  // running ones whose prompts are not done
  int reserved_pages_ = 0;                  // that running ones may still need
  PrefillFacts prefill_;
  int retracted_ = 0;
  int retracted_tokens_ = 0;
};

}  // namespace foretoken
