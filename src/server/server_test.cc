// How the server treats connections: bad HTTP, slow and vanishing clients, draining.
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "server/testing/server_fixture.h"

namespace foretoken {
namespace {

class ConnectionTest : public ServerTest {
 protected:
  std::string request(std::string_view path, std::string_view body, std::string_view headers = "") {
    return "POST " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(headers) +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
  }
  void endless() {
    answer = std::vector<Token>(200'000, 'a');
    config.context_length = 200'000;
  }
  static constexpr const char* kStream =
      R"({"text":"a","stream":true,"sampling_params":{"max_new_tokens":100000}})";
};

TEST_F(ConnectionTest, a_connection_serves_many_requests_also_pipelined) {
  start();
  HttpClient client(port);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(client.request("POST", "/generate", R"({"text":"a"})").status, 200);
  client.send(request("/generate", R"({"text":"a"})") + "GET /health HTTP/1.1\r\n\r\n" +
              request("/generate", R"({"text":"b"})"));
  EXPECT_EQ(json_of(client.read_reply().body).at("text"), "Hello, world!");
  EXPECT_EQ(client.read_reply().status, 200);
  EXPECT_EQ(json_of(client.read_reply().body).at("text"), "Hello, world!");
}

TEST_F(ConnectionTest, chunked_bodies_and_expectations_are_understood) {
  start();
  HttpClient client(port);
  client.send(
      "POST /generate HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
      "8\r\n{\"text\":\r\n5\r\n\"a\" }\r\n0\r\n\r\n");
  EXPECT_EQ(client.read_reply().status, 200);
  client.send("POST /generate HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 12\r\n\r\n");
  EXPECT_EQ(client.read_reply().status, 100);
  client.send(R"({"text":"a"})");
  EXPECT_EQ(client.read_reply().status, 200);
}

TEST_F(ConnectionTest, http_1_0_is_answered_and_closed) {
  start();
  HttpClient client(port);
  client.send(
      "POST /generate HTTP/1.0\r\nContent-Length: 26\r\n\r\n{\"text\":\"a\",\"stream\":true} ");
  const auto reply = client.read_reply();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(sse_events(reply.body).back(), "[DONE]");
  EXPECT_TRUE(client.at_end());
}

TEST_F(ConnectionTest, a_body_over_the_limit_is_413) {
  config.max_body_bytes = 1000;
  start();
  HttpClient client(port);
  client.send("POST /generate HTTP/1.1\r\nContent-Length: 1001\r\n\r\n");
  EXPECT_EQ(client.read_reply().status, 413);
  HttpClient chunked(port);
  chunked.send("POST /generate HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 3; ++i) chunked.send("200\r\n" + std::string(512, ' ') + "\r\n");
  EXPECT_EQ(chunked.read_reply().status, 413);
}

TEST_F(ConnectionTest, bad_http_is_400_and_closed) {
  start();
  for (const char* bytes :
       {"NONSENSE\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /%zz HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "POST /generate HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET /%00 HTTP/1.1\r\n\r\n"}) {
    HttpClient client(port);
    client.send(bytes);
    EXPECT_EQ(client.read_reply().status, 400) << bytes;
    EXPECT_TRUE(client.at_end()) << bytes;
  }
  HttpClient client(port);
  client.send("GET / HTTP/1.1\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n");
  EXPECT_EQ(client.read_reply().status, 431);
  EXPECT_EQ(get(port, "/health").status, 200);
}

TEST_F(ConnectionTest, bad_json_is_400) {
  start();
  const std::string deep(100'000, '[');
  for (const std::string& body :
       {std::string(""), std::string("{"), std::string("[]"), std::string("{\"text\":\"\xFF\"}"),
        std::string("{\"text\":NaN}"), std::string("{} x"), deep,
        std::string("{\"text\":\"\\ud80\"}"), "{\"text\":" + deep}) {
    for (const char* path : {"/generate", "/v1/chat/completions", "/v1/completions", "/tokenize",
                             "/detokenize", "/abort_request"}) {
      const auto reply = post(port, path, body);
      EXPECT_EQ(reply.status, 400) << path << " " << body.substr(0, 40);
      json_of(reply.body);
    }
  }
}

TEST_F(ConnectionTest, damaged_requests_never_end_the_server) {
  start();
  std::mt19937 random(1);
  const std::string good = request(
      "/v1/chat/completions",
      R"({"messages":[{"role":"user","content":"Hi"}],"stop":["a"],"logit_bias":{"1":2},"n":2})");
  for (int round = 0; round < 400; ++round) {
    std::string bytes = good;
    for (int hits = 1 + static_cast<int>(random() % 4); hits > 0; --hits)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    HttpClient client(port);
    client.send(bytes.substr(0, round % 3 == 0 ? random() % bytes.size() : bytes.size()));
    if (round % 16 == 0) client.send("\r\n\r\n");
  }
  EXPECT_EQ(get(port, "/health").status, 200);
  EXPECT_TRUE(eventually([&] { return engine.running() == 0; }));
}

TEST_F(ConnectionTest, a_client_that_leaves_cancels_its_request) {
  endless();
  start();
  for (const bool streaming : {true, false}) {
    HttpClient client(port);
    client.send(request("/generate", streaming ? kStream : R"({"text":"a","sampling_params":
                                                    {"max_new_tokens":100000,"n":3}})"));
    ASSERT_TRUE(eventually([&] { return engine.running() > 0; }));
    if (streaming) client.read_until("data: ");
    client.close();
    EXPECT_TRUE(eventually([&] { return engine.running() == 0; }));
  }
  EXPECT_EQ(engine.cancelled(), 4);
}

TEST_F(ConnectionTest, a_slow_reader_gets_everything_in_bigger_pieces) {
  constexpr std::size_t kTokens = 8'000;
  config.context_length = 20'000;
  answer = std::vector<Token>(kTokens, 'a');
  answer.push_back(kByteEos);
  engine.pace = std::chrono::microseconds(50);
  start();
  HttpClient slow(port);
  slow.send(request("/generate",
                    R"({"text":"a","stream":true,"sampling_params":{"max_new_tokens":15000}})"));
  // Cumulative texts, 32 MB in all, are far more than the socket holds: the stream must wait, and
  // others must not.
  ASSERT_TRUE(eventually([&] { return !engine.received().empty() && engine.running() == 0; }));
  EXPECT_EQ(get(port, "/health").status, 200);
  const auto events = sse_events(slow.read_reply().body);
  EXPECT_EQ(events.back(), "[DONE]");
  std::size_t sent = 0;
  for (const std::string& event : events) sent += event.size();
  EXPECT_LT(sent, 16U << 20U) << "nothing is kept for who does not read";
  EXPECT_EQ(json_of(events[events.size() - 2]).at("text").as_string().size(), kTokens);
}

TEST_F(ConnectionTest, many_streams_need_no_threads) {
  engine.pace = std::chrono::milliseconds(2);
  start();
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 200; ++i) {
    clients.push_back(std::make_unique<HttpClient>(port));
    clients.back()->send(request("/generate", R"({"text":"a","stream":true})"));
  }
  for (auto& client : clients) EXPECT_EQ(sse_events(client->read_reply().body).back(), "[DONE]");
}

// Drains while a request runs; one connection has sent it, another is idle.
class DrainTest : public ConnectionTest {
 protected:
  void drain() {
    engine.pace = std::chrono::milliseconds(100);  // the answer outlasts what tests do beside it
    start();
    idle.emplace(port);
    EXPECT_EQ(idle->request("GET", "/health").status, 200);
    client.emplace(port);
    client->send(request("/generate", R"({"text":"a"})"));
    ASSERT_TRUE(eventually([&] { return engine.running() == 1; }));
    http->stop();
    ASSERT_TRUE(eventually([&] { return get(port, "/health").status == 503; }));
    stranger.emplace(port);
  }

  std::optional<HttpClient> idle, client, stranger;
};

TEST_F(DrainTest, draining_finishes_what_runs_and_accepts_nothing_new) {
  drain();
  if (HasFatalFailure()) return;
  for (HttpClient* asking : {&*idle, &*stranger}) {
    const auto health = asking->request("GET", "/health");
    EXPECT_EQ(health.status, 503);
    EXPECT_NE(health.head.find("connection: close"), std::string::npos);
  }
  const auto work = post(port, "/generate", R"({"text":"a"})");
  EXPECT_EQ(work.status, 503);
  EXPECT_NE(work.head.find("connection: close"), std::string::npos);
  EXPECT_EQ(json_of(client->read_reply().body).at("text"), "Hello, world!");
  thread.join();
  EXPECT_EQ(get(port, "/health").status, 0) << "and then the port is closed";
}

TEST_F(DrainTest, new_requests_on_old_connections_are_refused_while_draining) {
  drain();
  if (HasFatalFailure()) return;
  EXPECT_EQ(idle->request("POST", "/generate", R"({"text":"a"})").status, 503);
  EXPECT_EQ(client->read_reply().status, 200);
}

TEST_F(DrainTest, no_body_is_asked_for_while_draining) {
  drain();
  if (HasFatalFailure()) return;
  idle->send("POST /generate HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n");
  EXPECT_EQ(idle->read_reply().status, 503);
  EXPECT_EQ(client->read_reply().status, 200);
}

TEST_F(ConnectionTest, draining_gives_up_after_its_time) {
  endless();
  config.drain_seconds = 0.1;
  start();
  HttpClient client(port);
  client.send(request("/generate", kStream));
  client.read_until("data: ");
  http->stop();
  const auto reply = client.read_reply();
  const auto events = sse_events(reply.body);
  EXPECT_EQ(events.back(), "[DONE]");
  EXPECT_EQ(json_of(events[events.size() - 2]).at("meta_info").at("finish_reason").at("type"),
            "abort");
  thread.join();
}

TEST(HttpConfigOf, limits_are_those_of_the_server) {
  ServerConfig config;
  config.drain_seconds = 0.25;
  config.receive_timeout_seconds = 1.5;
  config.max_connections = 7;
  config.max_body_bytes = 1001;
  config.body_budget_bytes = 2002;
  const HttpConfig http = http_config(config);
  EXPECT_EQ(http.drain_timeout, std::chrono::milliseconds(250));
  EXPECT_EQ(http.receive_timeout, std::chrono::milliseconds(1500));
  EXPECT_EQ(http.max_connections, 7U);
  EXPECT_EQ(http.max_body_bytes, 1001U);
  EXPECT_EQ(http.body_budget_bytes, 2002U);
}

TEST_F(ConnectionTest, every_open_stream_ends_with_a_reason_when_the_drain_is_over) {
  endless();
  config.drain_seconds = 0.1;
  start();
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 100; ++i) {
    clients.push_back(std::make_unique<HttpClient>(port));
    clients.back()->send(request("/generate", kStream));
  }
  ASSERT_TRUE(eventually([&] { return engine.running() == 100; }));
  http->stop();
  for (auto& client : clients) {
    const auto events = sse_events(client->read_reply().body);
    ASSERT_GE(events.size(), 2U);
    EXPECT_EQ(events.back(), "[DONE]");
    EXPECT_EQ(json_of(events[events.size() - 2]).at("meta_info").at("finish_reason").at("type"),
              "abort");
  }
  thread.join();
}

TEST_F(ConnectionTest, an_occupied_port_is_an_error_that_names_it) {
  start();
  ServerConfig second = config;
  second.port = port;
  try {
    const HttpServer other(http_config(second));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(std::to_string(port)), std::string::npos);
  }
}

TEST_F(ConnectionTest, the_server_may_end_while_the_engine_still_works) {
  endless();
  start();
  HttpClient client(port);
  client.send(request("/generate", kStream));
  client.read_until("data: ");
  client.close();
  stop();  // the engine, which outlives the server, may wake streams of it
  EXPECT_TRUE(eventually([&] { return engine.running() == 0; }));
}

}  // namespace
}  // namespace foretoken
