#include "engine/step_runner.h"

#include <atomic>
#include <utility>

#include "base/cpu_time.h"
#include "base/error.h"
#include "base/threads.h"

namespace foretoken {

struct StepHandle::Job {
  StepOrder order;
  FoundTaker found;
  StepResult result;
  std::exception_ptr failure;
  std::atomic<bool> is_done = false;  // the rest is the computing thread's until then
};

StepHandle::StepHandle(StepOrder order, StepResult result) : job_(std::make_shared<Job>()) {
  job_->order = std::move(order);
  job_->result = std::move(result);
  job_->is_done = true;
}

StepResult& StepHandle::wait() {
  job_->is_done.wait(false, std::memory_order_acquire);
  if (job_->failure) std::rethrow_exception(job_->failure);
  return job_->result;
}

const StepOrder& StepHandle::order() const {
  CHECK(job_->is_done.load(std::memory_order_acquire)) << "a step was read before it was computed";
  return job_->order;
}

StepRunner::StepRunner(Step& step, bool has_thread, std::function<void()> adopt)
    : step_(step), adopt_(std::move(adopt)) {
  if (has_thread) thread_ = std::thread([this] { work(); });
}

StepRunner::~StepRunner() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

StepHandle StepRunner::launch(StepOrder order, FoundTaker found) {
  auto job = std::make_shared<Job>();
  job->order = std::move(order);
  job->found = std::move(found);
  if (!thread_.joinable()) {
    compute(*job);
    return StepHandle(std::move(job));
  }
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(job);
  }
  changed_.notify_all();
  return StepHandle(std::move(job));
}

void StepRunner::reset() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return jobs_.empty(); });
  failure_ = nullptr;
  step_.reset();
}

void StepRunner::compute(Job& job) {
  if (!failure_) try {
      job.result = step_.run(job.order, job.found);
    } catch (...) {
      failure_ = std::current_exception();
    }
  job.failure = failure_;
  job.is_done.store(true, std::memory_order_release);
  job.is_done.notify_all();
}

void StepRunner::work() {
  name_thread("steps");
  const FlushDenormals flush;
  adopt_();
  for (std::unique_lock lock(mutex_);;) {
    changed_.wait(lock, [&] { return is_ending_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const std::shared_ptr<Job> job = jobs_.front();
    lock.unlock();
    compute(*job);
    lock.lock();
    jobs_.pop_front();
    changed_.notify_all();
  }
}

}  // namespace foretoken
