// Pages of other origins: who may call, what preflights and answers say, what is refused.
#include "server/http/origins.h"

#include <gtest/gtest.h>

#include "server/testing/server_fixture.h"

namespace foretoken {
namespace {

constexpr const char* kFriend = "https://chat.example:8443";
constexpr const char* kChat = "/v1/chat/completions";
constexpr const char* kBody = R"({"messages":[{"role":"user","content":"Hi"}]})";

HttpRequest head_with(std::vector<std::pair<std::string, std::string>> headers) {
  HttpRequest head;
  head.headers = std::move(headers);
  return head;
}

TEST(Origins, a_page_of_this_server_and_what_is_no_browser_are_at_home) {
  const Origins origins;
  for (const auto& headers : std::vector<std::vector<std::pair<std::string, std::string>>>{
           {},
           {{"host", "box:30000"}},
           {{"host", "Box:30000"}, {"origin", "http://box:30000"}},
           {{"host", "inner:1"}, {"origin", "https://outer"}, {"sec-fetch-site", "same-origin"}},
           {{"sec-fetch-site", "none"}}})
    EXPECT_FALSE(origins.are_foreign_to(head_with(headers)));
}

TEST(Origins, a_page_of_another_one_is_foreign_unless_it_is_named) {
  const Origins none, named({kFriend, "null"}), all({"*"});
  for (const auto& origin : {"https://evil.example", "http://box:30001", "box:30000", "http://"}) {
    const auto head = head_with({{"host", "box:30000"}, {"origin", origin}});
    EXPECT_TRUE(none.are_foreign_to(head)) << origin;
    EXPECT_TRUE(named.are_foreign_to(head)) << origin;
    EXPECT_FALSE(all.are_foreign_to(head)) << origin;
  }
  const auto of_friend =
      head_with({{"host", "b"}, {"origin", kFriend}, {"sec-fetch-site", "cross-site"}});
  EXPECT_TRUE(none.are_foreign_to(of_friend));
  EXPECT_FALSE(named.are_foreign_to(of_friend));
  EXPECT_FALSE(named.are_foreign_to(head_with({{"host", "b"}, {"origin", "null"}})));
  // An image or a form of another page names no origin where it only reads.
  EXPECT_TRUE(named.are_foreign_to(head_with({{"sec-fetch-site", "cross-site"}})));
  EXPECT_TRUE(named.are_foreign_to(head_with({{"sec-fetch-site", "same-site"}})));
}

TEST(Origins, a_name_may_have_been_pointed_at_this_machine) {
  const auto head = [](const char* scheme, const char* host) {
    return head_with({{"host", host},
                      {"origin", std::string(scheme) + "://" + host},
                      {"sec-fetch-site", "same-origin"}});
  };
  for (const char* listens : {"127.0.0.1", "127.1.2.3", "localhost", "::1", "[::1]"}) {
    const Origins here({}, listens), named({"http://evil.example:30000"}, listens);
    EXPECT_TRUE(here.are_foreign_to(head("http", "evil.example:30000"))) << listens;
    EXPECT_TRUE(here.are_foreign_to(head("HTTP", "127.0.0.1.evil.example"))) << listens;
    EXPECT_TRUE(here.are_foreign_to(head("http", "localhost.evil.example"))) << listens;
    EXPECT_FALSE(named.are_foreign_to(head("http", "evil.example:30000"))) << listens;
    for (const char* home : {"localhost:30000", "LOCALHOST", "a.localhost:1", "127.0.0.1:30000",
                             "192.168.1.7", "[::1]:30000", "[fe80::1]"})
      EXPECT_FALSE(here.are_foreign_to(head("http", home))) << listens << " " << home;
    EXPECT_FALSE(here.are_foreign_to(head("https", "chat.example"))) << "a proxy with TLS";
  }
  for (const char* listens : {"0.0.0.0", "10.0.0.7", "::", "box"})
    EXPECT_FALSE(Origins({}, listens).are_foreign_to(head("http", "box:30000"))) << listens;
}

TEST(Origins, a_server_on_loopback_is_called_localhost_or_by_an_address) {
  const auto named = [](const char* host) { return head_with({{"host", host}}); };
  const Origins here({}, "127.0.0.1"), known({kFriend, "null"}, "localhost"), all({"*"}, "::1");
  for (const char* host : {"evil.example", "evil.example:30000", "localhost.evil.example",
                           "127.0.0.1.evil.example:30000", "chat.example"})
    EXPECT_TRUE(here.is_misnamed(named(host))) << host;
  for (const char* host : {"", "localhost:30000", "LOCALHOST", "a.localhost:1", "127.0.0.1:30000",
                           "192.168.1.7", "[::1]:30000", "upstream:30000"})
    EXPECT_FALSE(here.is_misnamed(named(host))) << host;
  EXPECT_FALSE(here.is_misnamed(head_with({})));
  EXPECT_FALSE(known.is_misnamed(named("Chat.example:30000")));
  EXPECT_TRUE(known.is_misnamed(named("null.example")));
  EXPECT_FALSE(all.is_misnamed(named("evil.example")));
  for (const char* listens : {"0.0.0.0", "10.0.0.7", "::", "box"})
    EXPECT_FALSE(Origins({}, listens).is_misnamed(named("evil.example"))) << listens;
}

class OriginsTest : public ServerTest {
 protected:
  ClientReply ask(const std::string& method, const std::string& path, const std::string& origin,
                  const std::string& body = "", const std::string& more = "") {
    return HttpClient(port).request(method, path, body, "Origin: " + origin + "\r\n" + more);
  }
  ClientReply preflight(const std::string& origin) {
    return ask("OPTIONS", kChat, origin, "",
               "Access-Control-Request-Method: POST\r\n"
               "Access-Control-Request-Headers: authorization, content-type\r\n");
  }
  static bool has(const ClientReply& reply, const std::string& line) {
    return reply.head.find(line) != std::string::npos;
  }
};

TEST_F(OriginsTest, nobody_is_allowed_where_nobody_is_named) {
  start();
  const auto reply = preflight(kFriend);
  EXPECT_EQ(reply.status, 204);
  EXPECT_FALSE(has(reply, "access-control")) << reply.head;
  EXPECT_EQ(ask("POST", kChat, kFriend, kBody).status, 403);
  const auto read = ask("GET", "/v1/models", kFriend);
  EXPECT_EQ(read.status, 200);
  EXPECT_FALSE(has(read, "access-control")) << read.head;
  EXPECT_FALSE(has(read, "vary")) << read.head;
}

TEST_F(OriginsTest, who_is_named_may_ask_and_read) {
  config.allowed_origins = {"http://other", kFriend};
  start();
  const std::string allowed = std::string("access-control-allow-origin: ") + kFriend + "\r\n";
  const auto asked = preflight(kFriend);
  EXPECT_EQ(asked.status, 200);
  EXPECT_TRUE(has(asked, allowed)) << asked.head;
  EXPECT_TRUE(has(asked, "access-control-allow-headers: authorization, content-type\r\n"));
  EXPECT_TRUE(has(asked, "access-control-allow-methods: "));
  EXPECT_TRUE(has(asked, "vary: Origin\r\n"));
  for (const char* stream : {"false", "true"}) {
    std::string body = kBody;
    body.insert(1, std::string(R"("stream":)") + stream + ",");
    const auto reply = ask("POST", kChat, kFriend, body);
    EXPECT_EQ(reply.status, 200);
    EXPECT_TRUE(has(reply, allowed)) << reply.head;
    EXPECT_TRUE(has(reply, "vary: Origin\r\n")) << reply.head;
  }
  const auto error = ask("POST", kChat, kFriend, "{");
  EXPECT_EQ(error.status, 400);
  EXPECT_TRUE(has(error, allowed)) << "the page may read why";
}

TEST_F(OriginsTest, others_are_refused_beside_who_is_named) {
  config.allowed_origins = {kFriend};
  start();
  for (const char* origin :
       {"https://chat.example", "http://chat.example:8443", "https://chat.example:8443.evil"}) {
    const auto asked = preflight(origin);
    EXPECT_FALSE(has(asked, "access-control")) << asked.head;
    EXPECT_TRUE(has(asked, "vary: Origin\r\n")) << "a cache must not take it for the other's";
    EXPECT_EQ(ask("POST", kChat, origin, kBody).status, 403) << origin;
  }
  EXPECT_TRUE(has(get(port, "/health"), "vary: Origin\r\n"));
}

// What no preflight guards: without a body, or by GET.
TEST_F(OriginsTest, what_changes_something_cannot_be_forged) {
  start();
  EXPECT_EQ(ask("POST", "/flush_cache", kFriend).status, 403);
  EXPECT_EQ(
      HttpClient(port).request("GET", "/flush_cache", "", "Sec-Fetch-Site: cross-site\r\n").status,
      403);
  EXPECT_EQ(HttpClient(port).request("GET", "/flush_cache").status, 200);
  EXPECT_EQ(ask("POST", "/flush_cache", "http://test.localhost").status, 200);  // its host's name
  const auto probe =
      HttpClient(port).request("GET", "/health_generate", "", "Sec-Fetch-Site: cross-site\r\n");
  EXPECT_EQ(probe.status, 403);
  EXPECT_TRUE(engine.received().empty()) << "nothing was computed for a page of others";
  EXPECT_EQ(get(port, "/health_generate", "Sec-Fetch-Site: none\r\n").status, 200);
}

TEST_F(OriginsTest, a_name_pointed_at_this_machine_gets_nothing) {
  start();
  const auto ask_rebound = [&](const std::string& line) {
    HttpClient client(port);
    client.send(line + " HTTP/1.1\r\nHost: evil.example:" + std::to_string(port) +
                "\r\nSec-Fetch-Site: same-origin\r\n\r\n");
    return client.read_reply();
  };
  for (const char* line : {"GET /flush_cache", "POST /flush_cache", "GET /v1/models", "GET /health",
                           "DELETE /nowhere", "OPTIONS /v1/models"}) {
    const auto reply = ask_rebound(line);
    EXPECT_EQ(reply.status, 403) << line;
    EXPECT_NE(reply.body.find("--allow-origin"), std::string::npos) << reply.body;
  }
  stop();
  config.allowed_origins = {"https://evil.example"};
  start();
  EXPECT_EQ(ask_rebound("GET /v1/models").status, 200);
}

TEST_F(OriginsTest, a_star_allows_all) {
  config.allowed_origins = {"*"};
  start();
  const auto reply = ask("POST", kChat, kFriend, kBody);
  EXPECT_EQ(reply.status, 200);
  EXPECT_TRUE(has(reply, std::string("access-control-allow-origin: ") + kFriend + "\r\n"));
}

TEST_F(OriginsTest, an_answer_on_the_same_connection_forgets_the_origin_before) {
  config.allowed_origins = {kFriend};
  start();
  HttpClient client(port);
  const auto line = std::string("Origin: ") + kFriend + "\r\n";
  EXPECT_TRUE(has(client.request("GET", "/health", "", line), "access-control-allow-origin"));
  EXPECT_FALSE(has(client.request("GET", "/health"), "access-control-allow-origin"));
  client.send("NONSENSE\r\n\r\n");
  EXPECT_FALSE(has(client.read_reply(), "vary")) << "its head was not understood";
}

}  // namespace
}  // namespace foretoken
