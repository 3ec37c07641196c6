#pragma once
// HttpServerTest: the fixture of the suites of HttpServer.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "server/http/http_server.h"
#include "server/testing/http_client.h"

namespace foretoken {

// A server with short patience whose answers the test writes.
class HttpServerTest : public testing::Test {
 protected:
  HttpServerTest() {
    config.handle_signals = false;
    config.header_timeout = config.body_timeout = std::chrono::milliseconds(100);
    config.drain_timeout = config.overdue_timeout = std::chrono::milliseconds(20);
    config.idle_timeout = config.write_timeout = std::chrono::milliseconds(300);
  }
  ~HttpServerTest() override {
    if (!thread.joinable()) return;
    server->stop();
    thread.join();
  }
  using Handler = decltype(HttpService::handle);
  void start(Handler handler) { start(HttpService{.handle = std::move(handler)}); }
  void start(HttpService service) {
    server = std::make_unique<HttpServer>(config);
    server->start(std::move(service));
    thread = std::thread([this] { server->run(); });
  }

  // Keeps every exchange unanswered.
  void start_keeping() {
    start([this](const std::shared_ptr<Exchange>& exchange) {
      const std::lock_guard lock(mutex);
      kept.push_back(exchange);
    });
  }
  std::size_t kept_count() {
    const std::lock_guard lock(mutex);
    return kept.size();
  }
  static bool eventually(const std::function<bool()>& condition) {
    for (int i = 0; i < 2000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }
  static std::string head_of(std::size_t length) {
    return "POST / HTTP/1.1\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n";
  }
  // The status of a request whose body would have this length; 100: it may be sent.
  int status_of_body(std::size_t length) {
    HttpClient client(server->port());
    client.send("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: " +
                std::to_string(length) + "\r\n\r\n");
    return client.read_reply().status;
  }

  HttpConfig config;
  std::mutex mutex;
  std::vector<std::shared_ptr<Exchange>> kept;
  // For handlers, which may still be called while the test's own variables go.
  std::atomic<int> handled{0}, drained{0};
  std::atomic<bool> closed{false};
  std::unique_ptr<HttpServer> server;
  std::thread thread;
};

inline constexpr auto kNever = std::chrono::minutes(10);

}  // namespace foretoken
