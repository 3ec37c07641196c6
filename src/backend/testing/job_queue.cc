#include "backend/testing/job_queue.h"

#include <utility>

namespace foretoken {

JobQueue::JobQueue() : thread_([this] { work(); }) {}

JobQueue::~JobQueue() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void JobQueue::push(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_all();
}

void JobQueue::drain() {
  if (const auto failure = wait()) std::rethrow_exception(failure);
}

void JobQueue::forget_failure() { wait(); }

std::exception_ptr JobQueue::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return jobs_.empty(); });
  return std::exchange(failure_, nullptr);
}

void JobQueue::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return is_ending_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    if (!failure_) {
      std::function<void()>& job = jobs_.front();  // stays in place while others are added
      lock.unlock();
      std::exception_ptr thrown;
      try {
        job();
      } catch (...) {
        thrown = std::current_exception();
      }
      lock.lock();
      failure_ = thrown;
    }
    jobs_.pop_front();
    if (jobs_.empty()) changed_.notify_all();
  }
}

}  // namespace foretoken
