// Timeouts and budgets of heads, bodies and answers.

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "server/testing/http_server_fixture.h"

namespace foretoken {
namespace {

using std::chrono::milliseconds;

TEST_F(HttpServerTest, a_head_that_never_ends_is_timed_out) {
  config.body_timeout = config.receive_timeout = config.idle_timeout = kNever;
  start_keeping();
  HttpClient slow(server->port());
  slow.send("GET / HTTP/1.1\r\nX: ");
  EXPECT_EQ(slow.read_reply().status, 408);
  EXPECT_TRUE(slow.at_end());
}

TEST_F(HttpServerTest, a_body_without_progress_is_timed_out) {
  config.header_timeout = config.receive_timeout = config.idle_timeout = kNever;
  start_keeping();
  HttpClient slow(server->port());
  slow.send("POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(slow.read_reply().status, 408);
  EXPECT_EQ(kept_count(), 0U);
}

TEST_F(HttpServerTest, a_request_has_a_time_as_a_whole_whatever_its_progress) {
  config.header_timeout = config.body_timeout = config.idle_timeout = kNever;
  config.receive_timeout = milliseconds(100);
  start_keeping();
  HttpClient head(server->port()), body(server->port());
  head.send("GET / HTTP/1.1\r\nX: ");
  body.send("POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(head.read_reply().status, 408);
  EXPECT_EQ(body.read_reply().status, 408);
}

TEST_F(HttpServerTest, what_the_head_refuses_is_not_read) {
  start(HttpService{.admit = [](const HttpRequest& head) -> std::optional<HttpReply> {
                      if (head.header("authorization") == "good") return std::nullopt;
                      return HttpReply{.status = 401, .body = head.path};
                    },
                    .handle =
                        [](const std::shared_ptr<Exchange>& exchange) {
                          exchange->reply({.body = exchange->request().body});
                        }});
  HttpClient bad(server->port());
  bad.send("POST /p HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 40000000\r\n\r\n");
  const auto reply = bad.read_reply();
  EXPECT_EQ(reply.status, 401);  // and no 100 before it
  EXPECT_EQ(reply.body, "/p");
  EXPECT_NE(reply.head.find("connection: close"), std::string::npos);
  EXPECT_LT(bad.flood(std::string(1 << 16, 'x'), 64 << 20), std::size_t{64} << 20);
  HttpClient good(server->port());
  EXPECT_EQ(good.request("GET", "/x").status, 401);  // nothing follows it: the connection stays
  EXPECT_EQ(good.request("POST", "/", "hello", "Authorization: good\r\n").body, "hello");
}

TEST_F(HttpServerTest, the_bodies_of_all_requests_share_a_budget) {
  config.body_timeout = config.receive_timeout = kNever;
  config.body_budget_bytes = 4 << 20;
  start_keeping();
  HttpClient large(server->port());  // announces two of four MB and sends nothing
  large.send("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2097152\r\n\r\n");
  ASSERT_EQ(large.read_reply().status, 100);
  HttpClient refused(server->port());  // would leave less than a quarter
  refused.send(head_of(1'500'000));
  const auto reply = refused.read_reply();
  EXPECT_EQ(reply.status, 503);
  EXPECT_NE(reply.head.find("retry-after: "), std::string::npos);
  // A quarter is kept for those of medium size, and small ones always pass.
  std::vector<std::unique_ptr<HttpClient>> medium;
  do {
    medium.push_back(std::make_unique<HttpClient>(server->port()));
    medium.back()->send(
        "POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 300000\r\n\r\n");
  } while (medium.back()->read_reply().status == 100 && medium.size() < 20);
  EXPECT_GE(medium.size(), 4U);
  EXPECT_LT(medium.size(), 8U);
  EXPECT_EQ(status_of_body(16'000), 100);
  large.close();
  EXPECT_TRUE(eventually([&] { return status_of_body(300'000) == 100; }));
}

TEST_F(HttpServerTest, a_chunked_body_claims_what_it_needs_while_it_grows) {
  config.body_timeout = config.receive_timeout = kNever;
  config.body_budget_bytes = 1 << 20;
  start_keeping();
  HttpClient growing(server->port());
  growing.send("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
  for (int i = 0; i < 17; ++i) growing.send(chunk);
  EXPECT_EQ(growing.read_reply().status, 503);
  EXPECT_TRUE(eventually([&] { return status_of_body(1 << 20) == 100; }));
}

TEST_F(HttpServerTest, a_body_counts_until_it_is_released) {
  config.body_budget_bytes = 1 << 20;
  start([this](const std::shared_ptr<Exchange>& exchange) {
    exchange->post([this, exchange] {
      const std::lock_guard lock(mutex);
      kept.push_back(exchange);
    });
  });
  HttpClient client(server->port());
  client.send(head_of(600'000) + std::string(600'000, 'x'));
  ASSERT_TRUE(eventually([&] { return kept_count() == 1; }));
  EXPECT_EQ(status_of_body(600'000), 503);
  kept.front()->release_body();
  EXPECT_EQ(kept.front()->request().body, "");
  EXPECT_EQ(status_of_body(600'000), 100);
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

}  // namespace
}  // namespace foretoken
