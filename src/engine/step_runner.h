#pragma once
// StepRunner: computes steps, on the calling thread or on a thread of its own. With the thread,
// launch() returns at once, and its caller may plan the next step while this one is computed: steps
// are computed in the order in which they were launched, so what a later one writes is written
// after an earlier one has read. StepHandle::wait() is the only place where the host waits, and the
// only way to a result. Not a scheduler. Engine thread only.

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "engine/step.h"

namespace foretoken {

// A step that was launched.
class StepHandle {
 public:
  // One that is computed already.
  StepHandle(StepOrder order, StepResult result);

  // Until the step is computed; throws what it threw. In the order of order().entries.
  StepResult& wait();
  // After wait(): entries of texts that had ended are gone.
  const StepOrder& order() const;

 private:
  friend class StepRunner;
  struct Job;
  explicit StepHandle(std::shared_ptr<Job> job) : job_(std::move(job)) {}

  std::shared_ptr<Job> job_;
};

class StepRunner {
 public:
  // has_thread: steps are computed by a thread of the runner, which calls `adopt` before the first.
  // The step outlives the runner.
  StepRunner(Step& step, bool has_thread, std::function<void()> adopt = [] {});
  ~StepRunner();  // when the steps that were launched are computed
  StepRunner(const StepRunner&) = delete;
  StepRunner& operator=(const StepRunner&) = delete;

  // Where a step throws, those behind it are not computed, and throw the same, until reset().
  // `found` is called by the thread that computes; what it throws, the step has thrown.
  StepHandle launch(StepOrder order, FoundTaker found = {});

  // Waits for what was launched, then closes all slots of the step. Allocates nothing.
  void reset();

 private:
  using Job = StepHandle::Job;
  void compute(Job& job);
  void work();

  Step& step_;
  const std::function<void()> adopt_;
  std::exception_ptr failure_;  // of a step since the last reset; owned by the computing thread

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> jobs_;  // the first one is being computed
  bool is_ending_ = false;

  std::thread thread_;
};

}  // namespace foretoken
