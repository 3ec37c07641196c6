// Connections: how many there may be, pipelines, clients that leave or do not read.

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "server/testing/http_server_fixture.h"

namespace foretoken {
namespace {

using std::chrono::milliseconds;

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
#ifdef FORETOKEN_SANITIZES_ADDRESSES
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

// There are no interim responses in HTTP/1.0: nothing comes before the answer.
TEST_F(HttpServerTest, a_client_of_http_1_0_that_half_closes_gets_its_answer) {
  start_keeping();
  const std::vector<std::string> paths{"/whole", "/stream"};
  for (std::size_t i = 0; i < paths.size(); ++i) {
    HttpClient client(server->port());
    client.send("POST " + paths[i] + " HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}");
    client.half_close();
    ASSERT_TRUE(eventually([&] { return kept_count() == i + 1; }));
    std::this_thread::sleep_for(milliseconds(50));  // the end of its input has been read
    EXPECT_FALSE(client.is_closed());
    if (paths[i] == "/whole") {
      kept[i]->reply({.body = "late"});
    } else {
      kept[i]->start_stream("text/plain");
      kept[i]->send("late");
      kept[i]->finish_stream();
    }
    const auto reply = client.read_reply();
    EXPECT_EQ(reply.status, 200) << paths[i];
    EXPECT_EQ(reply.body, "late") << paths[i];
    EXPECT_TRUE(client.at_end());
  }
}

TEST_F(HttpServerTest, an_exchange_that_is_dropped_ends_its_answer) {
  start([&](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().path == "/none") return;
    exchange->start_stream("text/plain");
    exchange->send("begun");
  });
  HttpClient client(server->port());
  const ClientReply none = client.request("GET", "/none");
  EXPECT_EQ(none.status, 500);
  EXPECT_NE(none.body.find("Internal server error"), std::string::npos);
  for (int i = 0; i < 2; ++i) {
    const ClientReply begun = client.request("GET", "/stream");
    EXPECT_EQ(begun.status, 200);
    EXPECT_EQ(begun.body, "begun");
  }
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

TEST_F(HttpServerTest, what_comes_while_draining_is_answered_and_not_waited_for) {
  config.drain_timeout = config.overdue_timeout = std::chrono::seconds(5);
  config.idle_timeout = config.write_timeout = kNever;
  start_keeping();
  HttpClient busy(server->port());
  busy.send("GET / HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return kept_count() == 1; }));
  server->stop();
  std::this_thread::sleep_for(milliseconds(50));
  HttpClient late(server->port()), idle(server->port());
  late.send("GET / HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return kept_count() == 2; }));
  const auto answered = std::chrono::steady_clock::now();
  kept[0]->reply({.body = "{}"});
  EXPECT_EQ(busy.read_reply().status, 200);
  thread.join();
  EXPECT_LT(std::chrono::steady_clock::now() - answered, std::chrono::seconds(4));
  EXPECT_EQ(late.read_reply().status, 0);
  EXPECT_TRUE(idle.at_end());
  EXPECT_FALSE(HttpClient(server->port()).is_connected());
}

}  // namespace
}  // namespace foretoken
