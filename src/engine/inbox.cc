#include "engine/inbox.h"

#include <utility>

namespace foretoken {

void Inbox::post(Command command) {
  const std::lock_guard lock(mutex_);
  if (is_closed_) return command();
  commands_.push_back(std::move(command));
  posted_.notify_one();
}

void Inbox::run_posted(bool may_sleep, std::chrono::steady_clock::time_point until) {
  std::vector<Command> commands;
  {
    std::unique_lock lock(mutex_);
    if (may_sleep) posted_.wait_until(lock, until, [&] { return !commands_.empty() || is_woken_; });
    is_woken_ = false;
    commands.swap(commands_);
  }
  for (const Command& command : commands) command();
}

void Inbox::wake() {
  const std::lock_guard lock(mutex_);
  is_woken_ = true;
  posted_.notify_one();
}

// Commands may take locks of their own, so they run without this one while others may still post.
void Inbox::close() {
  std::unique_lock lock(mutex_);
  while (!commands_.empty()) {
    std::vector<Command> commands;
    commands.swap(commands_);
    lock.unlock();
    for (const Command& command : commands) command();
    lock.lock();
  }
  is_closed_ = true;
}

}  // namespace foretoken
