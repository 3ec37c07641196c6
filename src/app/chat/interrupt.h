#pragma once
// Ctrl-C as a wish to stop an answer: while one of these is alive SIGINT sets a flag and does not end
// the process; afterwards it does what it did before. One at a time.

#include <csignal>

#include <atomic>

namespace foretoken {

class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  const std::atomic<bool>& flag() const;
  void forget();  // clears the flag

 private:
  struct sigaction before_{};
};

}  // namespace foretoken
