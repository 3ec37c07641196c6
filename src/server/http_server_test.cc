#include "server/http_server.h"

#include <atomic>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "server/testing/http_client.h"

namespace foretoken {
namespace {

using std::chrono::milliseconds;

// A server with short patience whose answers the test writes.
class HttpServerTest : public testing::Test {
 protected:
  HttpServerTest() {
    config.handle_signals = false;
    config.header_timeout = config.body_timeout = milliseconds(100);
    config.idle_timeout = config.write_timeout = milliseconds(300);
  }
  ~HttpServerTest() override {
    if (!thread.joinable()) return;
    server->stop();
    thread.join();
  }
  void start(HttpServer::Handler handler) {
    server = std::make_unique<HttpServer>(config);
    thread = std::thread([this, handler] { server->run(handler); });
  }

  HttpConfig config;
  std::unique_ptr<HttpServer> server;
  std::thread thread;
};

TEST_F(HttpServerTest, a_head_that_never_ends_is_timed_out) {
  start([](const std::shared_ptr<Exchange>& exchange) { exchange->reply({.body = "{}"}); });
  HttpClient slow(server->port());
  slow.send("GET / HTTP/1.1\r\nX: ");
  EXPECT_EQ(slow.read_reply().status, 408);
  EXPECT_TRUE(slow.at_end());
}

TEST_F(HttpServerTest, a_body_without_progress_is_timed_out) {
  start([](const std::shared_ptr<Exchange>& exchange) { exchange->reply({.body = "{}"}); });
  HttpClient slow(server->port());
  slow.send("POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(slow.read_reply().status, 408);
}

TEST_F(HttpServerTest, an_idle_connection_is_closed) {
  start([](const std::shared_ptr<Exchange>& exchange) { exchange->reply({.body = "{}"}); });
  HttpClient idle(server->port());
  EXPECT_EQ(idle.request("GET", "/").status, 200);
  EXPECT_TRUE(idle.at_end());
}

TEST_F(HttpServerTest, a_client_that_takes_nothing_is_given_up) {
  std::atomic<bool> closed{false};
  std::shared_ptr<Exchange> kept;
  start([&](const std::shared_ptr<Exchange>& exchange) {
    kept = exchange;
    exchange->on_closed([&] { closed = true; });
    exchange->start_stream("text/plain");
    exchange->send(std::string(std::size_t{64} << 20, 'x'));
  });
  HttpClient deaf(server->port());
  deaf.send("GET / HTTP/1.1\r\n\r\n");
  for (int i = 0; i < 1000 && !closed; ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_TRUE(closed);
}

TEST_F(HttpServerTest, an_answer_may_take_longer_than_every_timeout) {
  std::thread worker;
  start([&](const std::shared_ptr<Exchange>& exchange) {
    worker = std::thread([exchange] {
      std::this_thread::sleep_for(milliseconds(500));
      exchange->reply({.body = "late"});
    });
  });
  HttpClient patient(server->port());
  EXPECT_EQ(patient.request("GET", "/").body, "late");
  worker.join();
}

TEST_F(HttpServerTest, a_handler_that_never_answers_is_an_error) {
  start([](const std::shared_ptr<Exchange>&) {});
  EXPECT_EQ(get(server->port(), "/").status, 500);
}

TEST_F(HttpServerTest, requests_arrive_decoded) {
  start([](const std::shared_ptr<Exchange>& exchange) {
    const HttpRequest& request = exchange->request();
    exchange->reply({.body = request.method + " " + request.path + " " + request.query_value("b") +
                             " " + std::string(request.header("x-name"))});
  });
  HttpClient sender(server->port());
  EXPECT_EQ(sender.request("PATCH", "/a%20c?a=1&b=x+%2By", {}, "X-NAME: v\r\n").body,
            "PATCH /a c x +y v");
  EXPECT_EQ(sender.request("GET", "http://host/p?b=2", {}).body, "GET /p 2 ");
}

TEST_F(HttpServerTest, an_answer_after_the_client_has_gone_is_dropped) {
  std::shared_ptr<Exchange> kept;
  std::atomic<bool> arrived{false}, closed{false};
  start([&](const std::shared_ptr<Exchange>& exchange) {
    kept = exchange;
    exchange->on_closed([&] { closed = true; });
    arrived = true;
  });
  {
    HttpClient gone(server->port());
    gone.send("GET / HTTP/1.1\r\n\r\n");
    for (int i = 0; i < 1000 && !arrived; ++i) std::this_thread::sleep_for(milliseconds(1));
  }
  for (int i = 0; i < 1000 && !closed; ++i) std::this_thread::sleep_for(milliseconds(10));
  ASSERT_TRUE(closed);
  kept->reply({.body = "too late"});
  bool ran = false;
  kept->post([&] { ran = true; });
  server->stop();
  thread.join();
  server.reset();
  kept->reply({.body = "much too late"});
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace foretoken
