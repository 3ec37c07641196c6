#pragma once
// CancelBox: where streams leave word that their consumer has gone, so that the engine need not ask
// all of them in every step. Any number of threads post, the engine thread takes. Shared with the
// streams, which may outlive the engine. Thread-safe.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace foretoken {

class CancelBox {
 public:
  void post(std::uint64_t arrival) {
    const std::lock_guard lock(mutex_);
    arrivals_.push_back(arrival);
    has_any_.store(true, std::memory_order_release);
  }

  // What was posted since the last call.
  std::vector<std::uint64_t> take() {
    if (!has_any_.load(std::memory_order_acquire)) return {};
    const std::lock_guard lock(mutex_);
    has_any_.store(false, std::memory_order_relaxed);
    return std::exchange(arrivals_, {});
  }

 private:
  std::atomic<bool> has_any_{false};
  std::mutex mutex_;  // guards what follows
  std::vector<std::uint64_t> arrivals_;
};

}  // namespace foretoken
