#include "server/work_queue.h"

#include <algorithm>
#include <utility>

namespace foretoken {

WorkQueue::WorkQueue(std::size_t threads) {
  for (std::size_t i = 0; i < std::max<std::size_t>(threads, 2); ++i)
    threads_.emplace_back([this] { work(); });
}

WorkQueue::~WorkQueue() { close(); }

void WorkQueue::post(Size size, std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    (size == Size::kShort ? short_ : long_).push_back(std::move(work));
  }
  changed_.notify_one();
}

void WorkQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

WorkQueue::Line* WorkQueue::next_line() {
  const bool may_be_long = !long_.empty() && long_running_ + 1 < threads_.size();
  if (short_.empty()) return may_be_long ? &long_ : nullptr;
  if (!may_be_long) return &short_;
  if (++passed_ <= kPatience) return &short_;
  return &long_;
}

void WorkQueue::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    Line* line = next_line();
    if (line == nullptr) {
      // Long work that is left waits for the thread that runs long work.
      if (is_closing_ && short_.empty() && (long_.empty() || long_running_ > 0)) return;
      changed_.wait(lock);
      continue;
    }
    const bool is_long = line == &long_;
    if (is_long) passed_ = 0;
    auto task = std::move(line->front());
    line->pop_front();
    long_running_ += is_long ? 1 : 0;
    lock.unlock();
    task();
    task = nullptr;  // what it holds goes before anybody else begins
    lock.lock();
    long_running_ -= is_long ? 1 : 0;
  }
}

}  // namespace foretoken
