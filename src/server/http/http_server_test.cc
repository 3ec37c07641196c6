#include "server/http/http_server.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
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
    config.drain_timeout = config.overdue_timeout = milliseconds(20);
    config.idle_timeout = config.write_timeout = milliseconds(300);
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
      std::this_thread::sleep_for(milliseconds(5));
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

constexpr auto kNever = std::chrono::minutes(10);

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

TEST_F(HttpServerTest, idle_connections_make_room_for_new_ones) {
  config.max_connections = 3;
  config.header_timeout = config.idle_timeout = kNever;
  start([](const std::shared_ptr<Exchange>& exchange) { exchange->reply({.body = "{}"}); });
  std::vector<std::unique_ptr<HttpClient>> idle;
  for (int i = 0; i < 3; ++i) {
    idle.push_back(std::make_unique<HttpClient>(server->port()));
    EXPECT_EQ(idle.back()->request("GET", "/").status, 200);
    idle.back()->send("GET / HTTP/1.1\r\nX: ");  // a head that never ends is no better
  }
  EXPECT_EQ(get(server->port(), "/").status, 200);
  EXPECT_TRUE(eventually([&] {
    return std::ranges::count_if(idle, [](const auto& client) { return client->is_closed(); }) == 1;
  }));
}

TEST_F(HttpServerTest, refused_clients_that_go_on_sending_make_room_for_others) {
  config.max_connections = 3;
  config.linger_timeout = kNever;
  start(HttpService{
      .admit = [](const HttpRequest& head) -> std::optional<HttpReply> {
        if (head.path == "/good") return std::nullopt;
        return HttpReply{.status = 401};
      },
      .handle =
          [](const std::shared_ptr<Exchange>& exchange) { exchange->reply({.body = "{}"}); }});
  std::vector<std::unique_ptr<HttpClient>> strangers;
  for (int i = 0; i < 3; ++i) {
    strangers.push_back(std::make_unique<HttpClient>(server->port()));
    strangers.back()->send(head_of(1'000'000));
    EXPECT_EQ(strangers.back()->read_reply().status, 401);
  }
  EXPECT_TRUE(eventually([&] { return get(server->port(), "/good").status == 200; }));
}

TEST_F(HttpServerTest, connections_beyond_the_limit_are_turned_away_while_all_are_at_work) {
  config.max_connections = 3;
  start_keeping();
  std::vector<std::unique_ptr<HttpClient>> busy;
  for (std::size_t i = 0; i < 3; ++i) {
    busy.push_back(std::make_unique<HttpClient>(server->port()));
    busy.back()->send("GET / HTTP/1.1\r\n\r\n");
    ASSERT_TRUE(eventually([&] { return kept_count() == i + 1; }));
  }
  HttpClient extra(server->port());
  const auto reply = extra.read_reply();
  EXPECT_EQ(reply.status, 503);
  EXPECT_NE(reply.head.find("retry-after: "), std::string::npos);
  EXPECT_TRUE(extra.at_end());
  for (const auto& exchange : kept) exchange->reply({.body = "done"});
  for (auto& client : busy) EXPECT_EQ(client->read_reply().body, "done");
}

TEST_F(HttpServerTest, running_out_of_descriptors_is_survived_and_told) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer needs descriptors of its own";
#endif
  config.header_timeout = config.idle_timeout = kNever;
  start([](const std::shared_ptr<Exchange>& exchange) { exchange->reply({.body = "{}"}); });
  EXPECT_EQ(get(server->port(), "/").status, 200);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  testing::internal::CaptureStderr();
  std::vector<int> taken;  // every number below the limit but one, which the client gets
  const rlimit low{128, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  for (int fd = 0; (fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) taken.push_back(fd);
  ASSERT_FALSE(taken.empty());
  ::close(taken.back());
  taken.pop_back();
  HttpClient client(server->port());
  client.send("GET / HTTP/1.1\r\n\r\n");
  std::this_thread::sleep_for(milliseconds(50));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  for (const int fd : taken) ::close(fd);
  EXPECT_TRUE(client.is_connected());
  EXPECT_EQ(client.read_reply().status, 200);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("cannot accept a connection"),
            std::string::npos);
}

TEST_F(HttpServerTest, a_name_stands_for_all_its_addresses) {
  config.host = "localhost";
  start([](const std::shared_ptr<Exchange>& exchange) { exchange->reply({.body = "{}"}); });
  EXPECT_EQ(HttpClient(server->port()).request("GET", "/").status, 200);
  try {
    HttpConfig v6 = config;
    v6.host = "::1";
    v6.port = 0;
    const HttpServer probe(v6);
  } catch (const Error&) {
    GTEST_SKIP() << "this machine has no IPv6";
  }
  EXPECT_EQ(HttpClient(server->port(), "::1").request("GET", "/").status, 200);
}

TEST_F(HttpServerTest, the_unspecified_address_of_ipv6_serves_both_families) {
  config.host = "::";
  try {
    start([](const std::shared_ptr<Exchange>& exchange) { exchange->reply({.body = "{}"}); });
  } catch (const Error&) {
    GTEST_SKIP() << "this machine has no IPv6";
  }
  EXPECT_EQ(HttpClient(server->port()).request("GET", "/").status, 200);
  EXPECT_EQ(HttpClient(server->port(), "::1").request("GET", "/").status, 200);
}

TEST_F(HttpServerTest, a_client_that_half_closes_gets_its_answer) {
  start_keeping();
  HttpClient client(server->port());
  client.send("GET /one HTTP/1.1\r\n\r\nGET /two HTTP/1.1\r\n\r\n");
  client.half_close();
  ASSERT_TRUE(eventually([&] { return kept_count() == 1; }));
  // The question whether it is still there; then the answers, to what was pipelined as well.
  EXPECT_EQ(client.read_reply().status, 100);
  kept[0]->reply({.body = "first"});
  EXPECT_EQ(client.read_reply().body, "first");
  ASSERT_TRUE(eventually([&] { return kept_count() == 2; }));
  kept[1]->start_stream("text/plain");
  kept[1]->send("second");
  kept[1]->finish_stream();
  EXPECT_EQ(client.read_reply().body, "second");
  EXPECT_TRUE(client.at_end());
}

TEST_F(HttpServerTest, a_client_that_leaves_behind_a_full_pipeline_is_noticed) {
  start([&](const std::shared_ptr<Exchange>& exchange) {
    exchange->on_closed([&] { closed = true; });
    exchange->start_stream("text/plain");
    exchange->send("begun");
    const std::lock_guard lock(mutex);
    kept.push_back(exchange);
  });
  HttpClient client(server->port());
  client.send("GET / HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return kept_count() == 1; }));
  client.send("GET / HTTP/1.1\r\nX: " + std::string(200'000, 'x'));
  client.close();  // with unread data, which resets the connection
  EXPECT_TRUE(eventually([&] { return closed.load(); }));
}

TEST_F(HttpServerTest, what_is_pipelined_during_an_answer_waits_outside) {
  config.header_timeout = config.idle_timeout = config.receive_timeout = kNever;
  start([&](const std::shared_ptr<Exchange>& exchange) {
    ++handled;
    if (exchange->request().path != "/first") return exchange->reply({.body = "later"});
    const std::lock_guard lock(mutex);
    kept.push_back(exchange);
  });
  HttpClient eager(server->port());
  eager.send("GET /first HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return kept_count() == 1; }));
  const std::string next = "GET /next HTTP/1.1\r\nX: " + std::string(8000, 'x') + "\r\n\r\n";
  // The kernel takes some megabytes; then the server, which reads no more, holds it up.
  const std::size_t sent = eager.flood(next, std::size_t{64} << 20);
  EXPECT_LT(sent, std::size_t{64} << 20);
  EXPECT_EQ(get(server->port(), "/other").status, 200);
  EXPECT_EQ(handled, 2);
  kept[0]->reply({.body = "first"});
  EXPECT_EQ(eager.read_reply().body, "first");
  for (std::size_t i = 0; i < std::min<std::size_t>(sent / next.size(), 100); ++i)
    ASSERT_EQ(eager.read_reply().body, "later") << i;
}

TEST_F(HttpServerTest, a_client_that_does_not_read_holds_up_nobody) {
  config.write_timeout = kNever;
  start([&](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().path == "/other") return exchange->reply({.body = "{}"});
    exchange->on_drained([&] { ++drained; });
    exchange->start_stream("text/plain");
    const std::lock_guard lock(mutex);
    kept.push_back(exchange);
  });
  HttpClient deaf(server->port());
  deaf.send("GET / HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return kept_count() == 1 && drained > 0; }));
  constexpr std::size_t kBytes = 32 << 20;
  kept[0]->send(std::string(kBytes, 'x'));
  EXPECT_TRUE(eventually([&] { return kept[0]->backlog() > 0; }));
  EXPECT_EQ(get(server->port(), "/other").status, 200);
  EXPECT_GT(kept[0]->backlog(), 0U);  // so that its maker knows to wait
  kept[0]->finish_stream();
  EXPECT_EQ(deaf.read_reply().body.size(), kBytes);
  EXPECT_TRUE(eventually([&] { return kept[0]->backlog() == 0; }));
}

TEST_F(HttpServerTest, a_body_that_is_still_coming_is_refused_when_the_drain_begins) {
  config.body_timeout = config.receive_timeout = config.drain_timeout = kNever;
  start_keeping();
  HttpClient busy(server->port()), sending(server->port());
  busy.send("GET / HTTP/1.1\r\n\r\n");
  sending.send("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return kept_count() == 1; }));
  EXPECT_EQ(sending.read_reply().status, 100);
  server->stop();
  EXPECT_EQ(sending.read_reply().status, 503);
  kept[0]->reply({.body = "{}"});
  EXPECT_EQ(busy.read_reply().status, 200);
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
