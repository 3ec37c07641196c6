#pragma once
// WrittenExchange: an exchange without a connection, for tests of what answers one. It keeps the
// reply and runs what is posted to it when the test says so. Calls of the engine's thread only
// post.

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/http/message.h"

namespace foretoken {

class WrittenExchange final : public Exchange {
 public:
  explicit WrittenExchange(HttpRequest request) : request_(std::move(request)) {}

  // Runs everything posted so far, and what that posts.
  void run_posted() {
    while (true) {
      std::vector<std::function<void()>> posted;
      {
        const std::lock_guard lock(mutex_);
        posted.swap(posted_);
      }
      if (posted.empty()) return;
      for (const auto& function : posted) function();
    }
  }
  std::optional<HttpReply> answer;

  // Breaks the circle of what was posted, its owner and the exchange: nothing is run any more.
  void forget() {
    std::vector<std::function<void()>> posted;
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
      posted.swap(posted_);
    }
    closed = nullptr;
  }

  const HttpRequest& request() const override { return request_; }
  void release_body() override { request_.body.clear(); }
  void reply(HttpReply reply) override { answer = std::move(reply); }
  void start_stream(std::string) override { answer.emplace(); }
  void send(std::string piece) override { answer->body += piece; }
  void finish_stream() override {}
  std::size_t backlog() const override { return 0; }
  void post(std::function<void()> function) override {
    const std::lock_guard lock(mutex_);
    if (!is_over_) posted_.push_back(std::move(function));
  }
  void on_closed(std::function<void()> callback) override { closed = std::move(callback); }
  void on_drained(std::function<void()>) override {}

  std::function<void()> closed;  // the test plays the client that leaves

 private:
  HttpRequest request_;
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;
  bool is_over_ = false;
};

}  // namespace foretoken
