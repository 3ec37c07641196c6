// stop_regex over HTTP, whole and streamed.
#include "server/testing/server_fixture.h"

namespace foretoken {
namespace {

class StopRegexTest : public ServerTest {
 protected:
  StopRegexTest() { answer_with("One: 1\nTwo: 22\nEnd."); }

  boost::json::value generate(const std::string& sampling) {
    const auto reply =
        post(port, "/generate", R"({"text":"x","sampling_params":{)" + sampling + "}}");
    EXPECT_EQ(reply.status, 200) << reply.body;
    return json_of(reply.body);
  }
  std::string refusal(const std::string& sampling) {
    const auto reply =
        post(port, "/generate", R"({"text":"x","sampling_params":{)" + sampling + "}}");
    EXPECT_EQ(reply.status, 400) << reply.body;
    return std::string(json_of(reply.body).at("error").at("message").as_string());
  }
};

TEST_F(StopRegexTest, the_text_ends_before_the_first_match) {
  for (const int tokens : {1, 3, 64}) {
    engine.tokens_per_step = tokens;
    start();
    const auto one = generate(R"("stop_regex":"[0-9]{2}")");
    EXPECT_EQ(one.at("text"), "One: 1\nTwo: ");
    const auto& reason = one.at("meta_info").at("finish_reason");
    EXPECT_EQ(reason.at("type"), "stop");
    EXPECT_EQ(reason.at("matched"), "[0-9]{2}");
    EXPECT_EQ(one.at("meta_info").at("completion_tokens"), 14);
    EXPECT_EQ(generate(R"("stop_regex":["E.d","\\nT"],"no_stop_trim":true)").at("text"),
              "One: 1\nT");
    EXPECT_EQ(generate(R"("stop_regex":"[0-9]{2}","stop":"Two")").at("text"), "One: 1\n");
    EXPECT_EQ(generate(R"("stop_regex":"x+")").at("text"), "One: 1\nTwo: 22\nEnd.");
    EXPECT_EQ(generate(R"("stop_regex":[])").at("text"), "One: 1\nTwo: 22\nEnd.");
    stop();
  }
}

// The text so far is searched as it grows: $ is its end, however many tokens a step finds.
TEST_F(StopRegexTest, what_looks_ahead_sees_the_end_of_the_text_so_far) {
  for (const int tokens : {1, 3, 64}) {
    engine.tokens_per_step = tokens;
    start();
    EXPECT_EQ(generate(R"("stop_regex":"[0-9]$")").at("text"), "One: ");
    EXPECT_EQ(generate(R"("stop_regex":"\\bT[a-z]+\\b:")").at("text"), "One: 1\n");
    EXPECT_EQ(generate(R"("stop_regex":"(?m)[0-9]$\\nE")").at("text"), "One: 1\nTwo: 2");
    EXPECT_EQ(generate(R"("stop_regex":"\\bwo")").at("text"), "One: 1\nTwo: 22\nEnd.");
    stop();
  }
}

TEST_F(StopRegexTest, streams_show_nothing_of_the_match) {
  start();
  const auto reply = post(port, "/v1/chat/completions",
                          R"({"messages":[{"role":"user","content":"x"}],"stream":true,
               "stop_regex":"(?m)^T[a-z]+: [0-9]+\n"})");
  std::string text, finish, matched;
  for (const auto& event : sse_events(reply.body)) {
    if (event == "[DONE]") continue;
    const auto choice = json_of(event).at("choices").at(0);
    if (choice.at("delta").at("content").is_string())
      text += choice.at("delta").at("content").as_string();
    if (choice.at("finish_reason").is_string()) {
      finish = choice.at("finish_reason").as_string();
      matched = choice.at("matched_stop").as_string();
    }
  }
  EXPECT_EQ(text, "One: 1\n");
  EXPECT_EQ(finish, "stop");
  EXPECT_EQ(matched, "(?m)^T[a-z]+: [0-9]+\n");
  const auto completion =
      post(port, "/v1/completions", R"({"prompt":"x","max_tokens":50,"stop_regex":"Two|End"})");
  EXPECT_EQ(json_of(completion.body).at("choices").at(0).at("text"), "One: 1\n");
}

TEST_F(StopRegexTest, what_cannot_be_used_is_refused) {
  start();
  EXPECT_EQ(refusal(R"("stop_regex":"(")"),
            "sampling_params.stop_regex: the expression \"(\" cannot be read: unclosed group");
  EXPECT_EQ(refusal(R"("stop_regex":7)"),
            "sampling_params.stop_regex: Input should be a valid string or list of strings (found "
            "integer)");
  EXPECT_NE(refusal(R"("stop_regex":"x*")").find("matches the empty text"), std::string::npos);
  EXPECT_EQ(refusal(R"("stop_regex":")" + std::string(9000, 'a') + "\""),
            "sampling_params.stop_regex: at most 32 expressions of 8192 bytes together (found 1 of "
            "9000)");
  stop();
  with_tokenizer = false;
  start();
  const auto reply =
      post(port, "/generate", R"({"input_ids":[1],"sampling_params":{"stop_regex":"a"}})");
  EXPECT_EQ(reply.status, 400);
  EXPECT_NE(reply.body.find("stop strings need a tokenizer"), std::string::npos) << reply.body;
}

}  // namespace
}  // namespace foretoken
