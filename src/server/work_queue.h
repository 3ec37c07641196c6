#pragma once
// WorkQueue: the threads that read bodies, render templates and tokenize, and two queues before
// them: short work and long work. Not a scheduler of the model's work. Thread-safe. Work must not
// throw.
//   - Long work never takes the last thread, so a text of megabytes delays long work only.
//   - Long work does not wait for ever behind short work.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace foretoken {

class WorkQueue {
 public:
  enum class Size { kShort, kLong };

  // At least two threads.
  explicit WorkQueue(std::size_t threads);
  ~WorkQueue();  // close()
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  void post(Size size, std::function<void()> work);
  // Finishes what was posted; nothing may be posted afterwards.
  void close();

 private:
  using Line = std::deque<std::function<void()>>;

  void work();
  Line* next_line();  // null: nothing that this thread may begin

  static constexpr int kPatience = 16;  // short work begun while long work waits and might begin

  std::mutex mutex_;
  std::condition_variable changed_;
  Line short_, long_;
  std::size_t long_running_ = 0;
  int passed_ = 0;
  bool is_closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace foretoken
