#pragma once
// Scheduler: continuous batching. It decides what each step computes (plan) and takes over what the
// step found (retire). A step may be planned while those before it are in flight: then what they
// find is not known, and the plan holds for whatever it is. What needs to be known for sure, as
// when pages run short, waits until no step is in flight. Decodes come first; prompts are cut into
// chunks that fill the rest of the row budget. When pages run short it evicts from the prefix
// cache, drops proposals, preempts the youngest, and at last fails exactly one request. It computes
// nothing and knows no threads. Engine thread only. Invariants: at most one of waiting, running per
// request; running is ordered by arrival; a request leaves with exactly one Finish.

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/admission.h"
#include "engine/engine.h"
#include "engine/roster.h"
#include "engine/sequence.h"
#include "engine/sequence_pages.h"
#include "engine/slot_change.h"
#include "engine/step_log.h"
#include "engine/step_runner.h"

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
  // `before`: what a scheduler that was abandoned has counted.
  Scheduler(const EngineConfig& config, const Parts& parts, const EngineStats& before = {});

  void add(Request request) { add(std::make_unique<Sequence>(std::move(request))); }
  // Without memory for it the request ends with that reason.
  void add(std::unique_ptr<Sequence> accepted);
  void abort(const std::string& id);  // that id, or ids "<id>_<n>" of its choices
  void cancel_all();
  void fail_all(FinishReason reason, const std::string& message);

  // What the next step computes; nullopt when there is nothing to do, or nothing before steps in
  // flight are retired. It may have no entries, and only make known who has left. Spans in it stay
  // valid until the step is retired.
  std::optional<StepOrder> plan();
  // Steps are retired in the order of their plans.
  void retire(StepHandle& step);

  // For when memory ran out in the middle of any of these, which may leave anything half done: ends
  // those that run, empties the cache, and gives those that wait to whoever makes the next
  // scheduler of the same parts. Of this one only its stats are of use then. Allocates nothing.
  WaitQueue abandon();

  bool is_idle() const { return waiting_.empty() && running_.empty(); }
  // Whether the next step has something to be told, be it that nothing is computed.
  bool has_news() const { return !changes_.empty(); }
  int queued() const { return static_cast<int>(waiting_.size()); }
  bool flush_cache();  // false, and nothing done, unless idle
  EngineStats stats() const;
  void restart_clock() { log_.restart_clock(stats_); }  // after idle time: rates start anew
  // Empty: all invariants hold. step: with what the device has, while no step is in flight.
  std::string check_integrity(Step* step) const;

 private:
  using Clock = Roster::Clock;

  // Planning, in this order.
  void drop_ended();
  bool is_ahead() const { return planned_ > retired_; }  // of steps in flight
  bool must_drain() const;
  bool is_time_to_preempt() const;
  void preempt_for_test();
  void plan_running(StepOrder& plan, int& prompt_rows);
  void plan_prompt(StepOrder& plan, Sequence& sequence, int rows);
  void admit(StepOrder& plan, int& prompt_rows);
  int prompt_row_budget() const;
  int chunk_rows(const Sequence& sequence, int budget, const StepPlan& plan) const;
  int make_room(Sequence& sequence);
  int make_room_ahead(Sequence& sequence);

  enum class Admission { kAdmitted, kEnded, kMustWait };
  Admission try_admit(Sequence& candidate, StepOrder& plan, int& prompt_rows);
  bool must_wait(const Sequence& candidate, const SequencePages::Prospect& cached,
                 const StepPlan& plan, int prompt_rows) const;
  bool fits(const Sequence& candidate, const SequencePages::Prospect& cached) const;
  int reserved_pages(const Sequence& running) const;
  void run(std::unique_ptr<Sequence> sequence, std::vector<Page> matched);

  // Ways out of the running ones.
  void preempt(Sequence& sequence);
  void finish(Sequence& sequence, FinishReason reason, const std::string& message);
  void finish(Sequence& sequence, Finish reason);
  void end(Sequence& sequence, FinishReason reason, const std::string& message);
  void cancel(Sequence& sequence);
  void release(Sequence& sequence);
  void remove_released();
  void enqueue(std::unique_ptr<Sequence>& sequence);
  std::unique_ptr<Sequence> dequeue(const Sequence& sequence);

  void report_plan(const StepPlan& plan);
  void count_step(const StepPlan& plan, const StepSeconds& seconds, bool has_decoded);
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
  WaitQueue waiting_;
  std::int64_t waiting_rows_ = 0;                   // pending rows of all that wait
  std::vector<std::unique_ptr<Sequence>> running_;  // by arrival: the youngest is the last
  std::vector<Sequence*> by_slot_;
  std::vector<SeqSlot> free_slots_;
  std::uint64_t arrivals_ = 0;
  EngineStats stats_;

  std::uint64_t planned_ = 0, retired_ = 0;  // steps
  bool wants_drain_ = false;                 // something waits until no step is in flight
  // Those that have left, with the number of the step that is told so: until then steps may look at
  // their text.
  struct Leaving {
    std::uint64_t step;
    std::unique_ptr<Sequence> sequence;
  };
  std::deque<Leaving> leaving_;

  // Of the plan being made.
  Clock::time_point planned_at_ = Clock::now();
  std::vector<const Sequence*> computing_;  // running ones whose prompts are not done
  int reserved_pages_ = 0;                  // that running ones may still need
  PrefillFacts prefill_;
  int retracted_ = 0;
  int retracted_tokens_ = 0;
};

}  // namespace foretoken
