// `speculative.trace`: each step with its tree and its output, whole and streamed.
#include "server/request/told_drafts.h"

#include <chrono>

#include <gtest/gtest.h>

#include "server/testing/server_fixture.h"

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr const char* kChat = R"("messages":[{"role":"user","content":"Hi"}])";

class ToldDraftsTest : public ServerTest {
 protected:
  ToldDraftsTest() {
    config.drafters = {"EAGLE3", "SUFFIX"};
    config.draft_nodes = 8;
    engine.with_drafts = true;
    engine.tokens_per_step = 3;
  }
  ClientReply ask(const std::string& route, const std::string& prompt, const std::string& wish,
                  const std::string& more = "") {
    return post(port, route, "{" + prompt + R"(,"speculative":)" + wish + more + "}");
  }
  static std::string text_of(const json::array& steps) {
    std::string text;
    for (const json::value& step : steps)
      for (const json::value& token : step.at("output").as_array())
        if (!token.as_object().contains("special")) text += token.at("text").as_string();
    return text;
  }
  // Steps in the choices of all events, in order.
  static json::array streamed(const ClientReply& reply) {
    json::array steps;
    for (const std::string& event : sse_events(reply.body)) {
      if (event == "[DONE]") break;
      const auto parsed = json_of(event);
      if (parsed.at("choices").as_array().empty()) continue;
      const auto choice = parsed.at("choices").at(0).as_object();
      if (!choice.contains("speculative")) continue;
      const auto& told = choice.at("speculative").as_object();
      if (told.contains("trace"))
        for (const auto& step : told.at("trace").as_array()) steps.push_back(step);
    }
    return steps;
  }
};

TEST_F(ToldDraftsTest, a_step_has_its_tree_and_what_it_brought) {
  start();
  const auto choice =
      json_of(ask("/v1/chat/completions", kChat, R"({"trace":true})").body).at("choices").at(0);
  const auto& steps = choice.at("speculative").at("trace").as_array();
  EXPECT_EQ(steps.at(0), json::parse(R"({
      "drafts": [
        {"token": 72, "text": "H", "parent": -1, "drafters": ["EAGLE3"], "chance": 0.5, "accepted": true},
        {"token": 101, "text": "e", "parent": 0, "drafters": ["EAGLE3"], "chance": 0.5, "accepted": true},
        {"token": 122, "text": "z", "parent": -1, "drafters": ["EAGLE3", "SUFFIX"], "chance": 0.25,
         "accepted": false}],
      "output": [{"token": 72, "text": "H", "draft": 0}, {"token": 101, "text": "e", "draft": 1},
                 {"token": 108, "text": "l", "draft": null}]})"));
  EXPECT_EQ(text_of(steps), "Hello, world!");
  EXPECT_TRUE(choice.at("speculative").as_object().contains("verify_steps")) << "and the report";
}

TEST_F(ToldDraftsTest, streams_tell_each_step_once_as_it_comes) {
  start();
  for (const auto& [route, prompt] : {std::pair{"/v1/chat/completions", kChat},
                                      std::pair{"/v1/completions", R"("prompt":"Hi")"}}) {
    const auto whole = json_of(ask(route, prompt, R"({"trace":true})").body);
    // Steps that end before the server looks again are one event.
    engine.pace = std::chrono::milliseconds(100);
    const auto reply = ask(route, prompt, R"({"trace":true})", R"(,"stream":true)");
    engine.pace = std::chrono::microseconds(500);
    EXPECT_EQ(streamed(reply), whole.at("choices").at(0).at("speculative").at("trace")) << route;
    const auto first = json_of(sse_events(reply.body).at(1)).at("choices").at(0);
    EXPECT_TRUE(first.at("finish_reason").is_null()) << "it comes before the end";
  }
}

TEST_F(ToldDraftsTest, every_route_has_the_whole_of_it) {
  start();
  const auto steps = [&](const std::string& route, const std::string& prompt) {
    const auto body = json_of(ask(route, prompt, R"({"trace":true})").body);
    const auto& told = route == "/generate" ? body.at("meta_info") : body;
    return text_of(told.at("speculative").at("trace").as_array());
  };
  EXPECT_EQ(steps("/generate", R"("text":"Hi")"), "Hello, world!");
  EXPECT_EQ(steps("/v1/messages", std::string(R"("max_tokens":64,)") + kChat), "Hello, world!");
  EXPECT_EQ(steps("/v1/responses", R"("input":"Hi")"), "Hello, world!");
  const auto events =
      sse_events(ask("/generate", R"("text":"Hi")", R"({"trace":true})", R"(,"stream":true)").body);
  EXPECT_EQ(text_of(json_of(events[events.size() - 2])
                        .at("meta_info")
                        .at("speculative")
                        .at("trace")
                        .as_array()),
            "Hello, world!");
}

// The steps after it are no part of the answer, and of its own step what stands behind it.
TEST_F(ToldDraftsTest, nothing_is_told_of_what_comes_after_the_end) {
  start();
  const auto choice = json_of(ask("/v1/chat/completions", kChat, R"({"trace":true})",
                                  R"(,"stop":"o","no_stop_trim":true)")
                                  .body)
                          .at("choices")
                          .at(0);
  const auto& steps = choice.at("speculative").at("trace").as_array();
  EXPECT_EQ(text_of(steps), "Hello");
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps.at(1).at("output").as_array().size(), 2U);
}

TEST_F(ToldDraftsTest, half_a_character_is_told_in_bytes) {
  answer = {0xC3, 0xA9, kByteEos};
  engine.tokens_per_step = 2;
  start();
  const auto output = json_of(ask("/v1/chat/completions", kChat, R"({"trace":true})").body)
                          .at("choices")
                          .at(0)
                          .at("speculative")
                          .at("trace")
                          .at(0)
                          .at("output");
  EXPECT_EQ(output.at(0).at("bytes"), json::value(json::array{0xC3}));
  EXPECT_EQ(output.at(1).at("bytes"), json::value(json::array{0xA9}));
}

TEST_F(ToldDraftsTest, who_does_not_ask_is_told_no_steps) {
  start();
  for (const char* wish : {"{}", R"({"trace":false})"}) {
    const auto reply = ask("/v1/chat/completions", kChat, wish, R"(,"stream":true)");
    EXPECT_EQ(reply.body.find("trace"), std::string::npos) << wish;
    EXPECT_FALSE(engine.received().back().draft_wish.is_traced);
  }
  EXPECT_EQ(post(port, "/v1/chat/completions", std::string("{") + kChat + "}").body.find("trace"),
            std::string::npos);
}

// Without drafts there are steps of one token each.
TEST_F(ToldDraftsTest, it_counts_as_what_an_answer_may_hold) {
  config.context_length = 1 << 20;
  start();
  const std::string length = R"(,"max_tokens":300000)";
  EXPECT_EQ(ask("/v1/chat/completions", kChat, "{}", length).status, 200);
  const auto refused = ask("/v1/chat/completions", kChat, R"({"trace":true})", length);
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body.find("of memory"), std::string::npos) << refused.body;
}

}  // namespace
}  // namespace foretoken
