#pragma once
// Inbox: how other threads talk to the engine thread: they post commands, it runs them in order
// between steps. Once it is closed, a command runs at once on the caller, under the inbox's lock:
// the engine thread has ended, so that caller alone touches what it owned. Thread-safe.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

namespace foretoken {

class Inbox {
 public:
  using Command = std::function<void()>;

  void post(Command command);
  // Runs what was posted. When nothing was and `may_sleep`, waits for a command or the time. Where
  // a command throws, those behind it are run by the next call.
  void run_posted(bool may_sleep, std::chrono::steady_clock::time_point until);
  // Wakes the engine thread without a command.
  void wake();
  // Runs what is left and closes.
  void close();

 private:
  std::mutex mutex_;  // guards what follows
  std::condition_variable posted_;
  std::vector<Command> commands_;
  bool is_woken_ = false;
  bool is_closed_ = false;

  // For the thread that runs commands: the commands it took, and how many of them it has run.
  std::vector<Command> taken_;
  std::size_t run_ = 0;
  void run_taken();
};

}  // namespace foretoken
