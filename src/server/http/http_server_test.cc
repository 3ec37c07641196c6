// Addresses, decoded requests, and answers of handlers.

#include "server/http/http_server.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"
#include "server/testing/http_server_fixture.h"

namespace foretoken {
namespace {

using std::chrono::milliseconds;

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
