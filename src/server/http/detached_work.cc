#include "server/http/detached_work.h"

#include <utility>

namespace foretoken {

// What was posted, and the thread that runs it.
class DetachedWork::Line {
 public:
  Line() : thread_([this] { run(); }) {}
  ~Line() { close(); }

  void post(std::function<void()> function) {
    {
      const std::lock_guard lock(mutex_);
      if (is_closed_) return;
      posted_.push_back(std::move(function));
    }
    changed_.notify_one();
  }

  // What has not begun is dropped.
  void close() {
    std::deque<std::function<void()>> dropped;
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
      dropped.swap(posted_);
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return is_closed_ || !posted_.empty(); });
      if (is_closed_) return;
      auto function = std::move(posted_.front());
      posted_.pop_front();
      lock.unlock();
      function();
      function = nullptr;  // what it holds goes without the lock
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> posted_;
  bool is_closed_ = false;
  std::thread thread_;  // last: it uses the others
};

class DetachedWork::Detached final : public Exchange {
 public:
  Detached(HttpRequest head, OnReply on_reply, std::weak_ptr<Line> line)
      : request_(std::move(head)), on_reply_(std::move(on_reply)), line_(std::move(line)) {}

  const HttpRequest& request() const override { return request_; }
  void release_body() override {
    request_.body = {};
    request_.headers = {};
  }
  void reply(HttpReply reply) override {
    on_reply_(reply);
    forget();
  }
  void start_stream(std::string) override {}
  void send(std::string) override {}
  void finish_stream() override { forget(); }
  std::size_t backlog() const override { return 0; }
  void post(std::function<void()> function) override {
    if (const auto line = line_.lock()) line->post(std::move(function));
  }
  void on_closed(std::function<void()> callback) override {
    const std::lock_guard lock(mutex_);
    closed_ = std::move(callback);
  }
  void on_drained(std::function<void()>) override {}  // nothing is ever left unsent

  void leave() {
    if (const auto closed = forget()) closed();
  }

 private:
  // The callback holds what answers, and that this exchange.
  std::function<void()> forget() {
    const std::lock_guard lock(mutex_);
    return std::exchange(closed_, nullptr);
  }

  HttpRequest request_;
  OnReply on_reply_;
  std::weak_ptr<Line> line_;
  std::mutex mutex_;
  std::function<void()> closed_;
};

std::shared_ptr<Exchange> DetachedWork::begin(HttpRequest head, OnReply on_reply) {
  const std::lock_guard lock(mutex_);
  if (line_ == nullptr) line_ = std::make_shared<Line>();
  std::erase_if(running_, [](const auto& one) { return one.expired(); });
  auto exchange = std::make_shared<Detached>(std::move(head), std::move(on_reply), line_);
  running_.push_back(exchange);
  return exchange;
}

void DetachedWork::close() {
  const std::lock_guard lock(mutex_);
  if (line_ == nullptr) return;
  line_->close();
  for (const auto& one : running_)
    if (const auto exchange = one.lock()) exchange->leave();
  running_.clear();
}

}  // namespace foretoken
