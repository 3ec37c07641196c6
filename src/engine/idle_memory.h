#pragma once
// IdleMemory: when memory goes back to the system while nobody asks for anything: that of free pages
// and of scratch soon, that of cached texts, which are then forgotten, much later. It only says
// when; the engine does it. Engine thread only.

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace foretoken {

struct IdleTimes {
  double free_pages_seconds = 60;
  double cached_texts_seconds = 1800;
};

class IdleMemory {
 public:
  using Time = std::chrono::steady_clock::time_point;
  enum class Due { kNothing, kFreePages, kCachedTexts };

  explicit IdleMemory(IdleTimes times) : times_(times) {}

  void work() { since_.reset(), done_ = Due::kNothing; }
  // Pages became free all at once: their memory is due.
  void pages_freed() { is_hurried_ = true; }

  // There is no work: the next time at which something is due; max: never, until work() is called.
  Time next(Time now) {
    if (!since_) since_ = now;
    if (is_hurried_) return now;
    if (done_ == Due::kCachedTexts) return Time::max();
    return *since_ +
           length(done_ == Due::kNothing ? times_.free_pages_seconds : times_.cached_texts_seconds);
  }

  // What is due now, once. Cached texts are due with the free pages that they leave.
  Due take(Time now) {
    if (now < next(now)) return Due::kNothing;
    if (std::exchange(is_hurried_, false)) return Due::kFreePages;
    const bool is_late = now >= *since_ + length(times_.cached_texts_seconds);
    return done_ = is_late ? Due::kCachedTexts : Due::kFreePages;
  }

 private:
  static std::chrono::steady_clock::duration length(double seconds) {
    constexpr double kYear = 366.0 * 24 * 3600;
    return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double>(std::clamp(seconds, 0.0, kYear)));
  }

  IdleTimes times_;
  std::optional<Time> since_;  // there has been no work
  Due done_ = Due::kNothing;   // since then
  bool is_hurried_ = false;
};

}  // namespace foretoken
