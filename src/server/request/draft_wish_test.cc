// `speculative` on all generating routes: what is wished reaches the engine, what became of drafts
// comes back.
#include "server/request/draft_wish.h"

#include <map>
#include <utility>

#include <gtest/gtest.h>

#include "server/testing/server_fixture.h"

namespace foretoken::draft_wish_test {
namespace {

namespace json = boost::json;

constexpr const char* kChat = "/v1/chat/completions";
constexpr const char* kCompletions = "/v1/completions";
constexpr const char* kGenerate = "/generate";
constexpr const char* kMessages = "/v1/messages";
constexpr const char* kResponses = "/v1/responses";

class DraftWishTest : public ServerTest {
 protected:
  DraftWishTest() {
    config.drafters = {"EAGLE3", "SUFFIX"};
    config.drafter_named = [](const std::string& name) {
      return name == "suffix" ? "SUFFIX" : name;
    };
    config.draft_nodes = 8;
    engine.with_drafts = true;
  }
  ClientReply ask(const std::string& route, const std::string& wish, const std::string& more = "") {
    const std::map<std::string, std::string> prompts{
        {kChat, R"("messages":[{"role":"user","content":"Hi"}])"},
        {kCompletions, R"("prompt":"Hi")"},
        {kGenerate, R"("text":"Hi")"},
        {kMessages, R"("max_tokens":64,"messages":[{"role":"user","content":"Hi"}])"},
        {kResponses, R"("input":"Hi")"}};
    const std::string& prompt = prompts.at(route);
    return post(port, route, "{" + prompt + R"(,"speculative":)" + wish + more + "}");
  }
  DraftWish wished(const std::string& wish) {
    EXPECT_EQ(ask(kGenerate, wish).status, 200) << wish;
    return engine.received().back().draft_wish;
  }
  std::string refusal_of(const std::string& wish) {
    const auto reply = ask(kGenerate, wish);
    EXPECT_EQ(reply.status, 400) << reply.body;
    return std::string(json_of(reply.body).at("error").at("message").as_string());
  }
  // Of a whole answer.
  json::value report(const std::string& route, const std::string& wish) {
    const auto body = json_of(ask(route, wish).body);
    if (route == kMessages || route == kResponses) return body.at("speculative");
    return route == kGenerate ? body.at("meta_info").at("speculative")
                              : body.at("choices").at(0).at("speculative");
  }
};

TEST_F(DraftWishTest, wishes_reach_the_engine) {
  start();
  EXPECT_TRUE(wished("{}").allows_drafts());
  EXPECT_EQ(wished("{}").max_nodes, kMaxTreeNodes);
  EXPECT_FALSE(wished(R"({"enabled":false})").allows_drafts());
  EXPECT_FALSE(wished(R"({"enabled":false,"max_nodes":5})").allows_drafts());
  EXPECT_EQ(wished(R"({"max_nodes":5})").max_nodes, 5);
  EXPECT_EQ(wished(R"({"drafters":["SUFFIX"]})").drafters, 2U);
  EXPECT_EQ(wished(R"({"drafters":["suffix"]})").drafters, 2U);
  EXPECT_EQ(wished(R"({"drafters":"EAGLE3"})").drafters, 1U);
  EXPECT_EQ(wished(R"({"drafters":["EAGLE3","SUFFIX"]})").drafters, 3U);
  EXPECT_FALSE(wished(R"({"drafters":[]})").allows_drafts());
  EXPECT_TRUE(wished("null").allows_drafts());
}

TEST_F(DraftWishTest, every_route_tells_what_became_of_drafts) {
  start();
  for (const char* route : {kChat, kCompletions, kGenerate, kMessages, kResponses})
    EXPECT_EQ(report(route, "{}"), json::value({{"drafters",
                                                 {{"EAGLE3", {{"proposed", 21}, {"accepted", 7}}},
                                                  {"SUFFIX", {{"proposed", 0}, {"accepted", 0}}}}},
                                                {"verify_steps", 7},
                                                {"accepted_by_depth", json::array{7}},
                                                {"reason", nullptr}}))
        << route;
  EXPECT_EQ(report(kChat, R"({"enabled":false})").at("reason"), "request");
}

TEST_F(DraftWishTest, a_stream_tells_it_with_the_finish_reason) {
  start();
  for (const char* route : {kChat, kCompletions}) {
    const auto events = sse_events(ask(route, "{}", R"(,"stream":true)").body);
    int told = 0;
    for (std::size_t i = 0; i + 1 < events.size(); ++i) {
      const auto choice = json_of(events[i]).at("choices").at(0).as_object();
      EXPECT_EQ(choice.contains("speculative"), !choice.at("finish_reason").is_null());
      told += choice.contains("speculative") ? 1 : 0;
    }
    EXPECT_EQ(told, 1) << route;
  }
  const auto events = sse_events(ask(kGenerate, "{}", R"(,"stream":true)").body);
  EXPECT_FALSE(json_of(events.front()).at("meta_info").as_object().contains("speculative"));
  EXPECT_TRUE(
      json_of(events[events.size() - 2]).at("meta_info").as_object().contains("speculative"));
}

TEST_F(DraftWishTest, a_stream_of_typed_events_tells_it_in_the_last_that_has_usage) {
  start();
  for (const auto& [route, last] :
       {std::pair{kMessages, "message_delta"}, std::pair{kResponses, "response.completed"}}) {
    int told = 0;
    for (const auto& text : sse_events(ask(route, "{}", R"(,"stream":true)").body)) {
      const auto event = json_of(text).as_object();
      const auto* response = event.if_contains("response");
      if (!(response == nullptr ? event : response->as_object()).contains("speculative")) continue;
      EXPECT_EQ(event.at("type"), last);
      ++told;
    }
    EXPECT_EQ(told, 1) << route;
  }
}

TEST_F(DraftWishTest, who_wishes_nothing_is_told_nothing) {
  start();
  const auto body = json_of(post(port, kGenerate, R"({"text":"Hi"})").body);
  EXPECT_FALSE(body.at("meta_info").as_object().contains("speculative"));
  const auto answer = json_of(post(port, kResponses, R"({"input":"Hi"})").body);
  EXPECT_FALSE(answer.as_object().contains("speculative"));
}

TEST_F(DraftWishTest, wishes_that_cannot_be_are_refused_by_name) {
  start();
  for (const auto& [wish, fault] : std::vector<std::pair<std::string, std::string>>{
           {"true", "body.speculative: Input should be a valid dictionary"},
           {R"({"max_nodes":0})", "speculative.max_nodes: expected 1 to 64 (found 0)"},
           {R"({"max_nodes":65})", "expected 1 to 64 (found 65)"},
           {R"({"max_nodes":"many"})", "speculative.max_nodes: Input should be a valid integer"},
           {R"({"enabled":"maybe"})", "speculative.enabled"},
           {R"({"drafters":["NGRAM"]})",
            "speculative.drafters: this server has EAGLE3 and SUFFIX (found 'NGRAM')"},
           {R"({"drafters":[1]})", "speculative.drafters"},
           {R"({"nodes":4})", "speculative.nodes: expected enabled, max_nodes, drafters, trace"},
           {R"({"trace":"all"})", "speculative.trace"}})
    EXPECT_NE(refusal_of(wish).find(fault), std::string::npos) << wish << ": " << refusal_of(wish);
}

TEST_F(DraftWishTest, a_server_without_drafters_has_none_to_wish_for) {
  config.drafters.clear();
  start();
  EXPECT_NE(refusal_of(R"({"drafters":["SUFFIX"]})").find("this server has none"),
            std::string::npos);
  EXPECT_EQ(report(kChat, "{}").at("drafters"), json::value(json::object()));
}

}  // namespace
}  // namespace foretoken::draft_wish_test
