#include "engine/inbox.h"

#include <utility>

namespace foretoken {

void Inbox::post(Command command) {
  const std::lock_guard lock(mutex_);
  if (is_closed_) return command();
  commands_.push_back(std::move(command));
  posted_.notify_one();
}

void Inbox::run_taken() {
  while (run_ < taken_.size()) taken_[run_++]();
  taken_.clear();
  run_ = 0;
}

void Inbox::run_posted(bool may_sleep, std::chrono::steady_clock::time_point until) {
  const bool has_left_overs = run_ < taken_.size();  // which may have brought work
  run_taken();
  {
    std::unique_lock lock(mutex_);
    if (may_sleep && !has_left_overs)
      posted_.wait_until(lock, until, [&] { return !commands_.empty() || is_woken_; });
    is_woken_ = false;
    taken_.swap(commands_);
  }
  run_taken();
}

void Inbox::wake() {
  const std::lock_guard lock(mutex_);
  is_woken_ = true;
  posted_.notify_one();
}

// Commands may take locks of their own, so they run without this one while others may still post.
void Inbox::close() {
  run_taken();
  std::unique_lock lock(mutex_);
  while (!commands_.empty()) {
    taken_.swap(commands_);
    lock.unlock();
    run_taken();
    lock.lock();
  }
  is_closed_ = true;
}

}  // namespace foretoken
