#pragma once
// JobQueue: jobs done in order by a thread of its own. After one that throws the others are dropped
// until the failure has been told. For tests only. One caller at a time.

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace foretoken {

class JobQueue {
 public:
  JobQueue();
  ~JobQueue();  // when all jobs are done
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;

  void push(std::function<void()> job);
  // Waits until no job is left; throws what one of them threw.
  void drain();
  // Waits, too; what was thrown no longer matters.
  void forget_failure();

 private:
  void work();
  std::exception_ptr wait();

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;  // the first one is being done
  std::exception_ptr failure_;
  bool is_ending_ = false;

  std::thread thread_;
};

}  // namespace foretoken
