// What ends an answer of /v1/chat/completions: stop strings, stop tokens, the length.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "server/testing/chat_fixture.h"

namespace foretoken {
namespace {

TEST_F(ChatTest, a_stop_string_across_tokens_is_neither_shown_nor_counted_beyond) {
  engine.tokens_per_step = 5;  // the round that completes it brings more tokens
  start();
  const auto body = json_of(chat(R"("stop":["xyz","wor"])").body);
  const auto& choice = body.at("choices").at(0);
  EXPECT_EQ(choice.at("message").at("content"), "Hello, ");
  EXPECT_EQ(choice.at("finish_reason"), "stop");
  EXPECT_EQ(choice.at("matched_stop"), "wor");
  EXPECT_EQ(body.at("usage").at("completion_tokens"), 10);  // "Hello, wor"
  const auto chunks = stream(R"("stop":"wor")");
  EXPECT_EQ(content_of(chunks), "Hello, ");
  EXPECT_EQ(chunks.back().at("choices").at(0).at("matched_stop"), "wor");
}

TEST_F(ChatTest, a_found_stop_string_cancels_the_sequence) {
  answer = std::vector<Token>(10000, 'a');
  answer[20] = '!';
  config.context_length = 100000;
  start();
  EXPECT_EQ(json_of(chat(R"("stop":"!")").body).at("choices").at(0).at("finish_reason"), "stop");
  EXPECT_TRUE(eventually([&] { return engine.running() == 0; }));
  EXPECT_EQ(engine.cancelled(), 1);
}

TEST_F(ChatTest, a_stop_string_is_kept_when_asked) {
  start();
  for (const char* field : {"no_stop_trim", "include_stop_str_in_output"}) {
    const auto body = json_of(chat(R"("stop":"wor",")" + std::string(field) + R"(":true)").body);
    EXPECT_EQ(body.at("choices").at(0).at("message").at("content"), "Hello, wor") << field;
  }
}

TEST_F(ChatTest, an_unfinished_stop_string_is_shown_at_the_end) {
  start();
  const auto body = json_of(chat(R"("stop":"world?")").body);
  EXPECT_EQ(body.at("choices").at(0).at("message").at("content"), "Hello, world!");
  EXPECT_EQ(content_of(stream(R"("stop":"world?")")), "Hello, world!");
}

TEST_F(ChatTest, stop_token_ids_end_the_answer) {
  start();
  const auto body = json_of(chat(R"("stop_token_ids":[44])").body);  // ','
  EXPECT_EQ(body.at("choices").at(0).at("message").at("content"), "Hello");
  EXPECT_EQ(body.at("choices").at(0).at("matched_stop"), 44);
  EXPECT_EQ(body.at("usage").at("completion_tokens"), 6);
}

TEST_F(ChatTest, the_length_limit_ends_with_length_and_no_match) {
  start();
  const auto body = json_of(chat(R"("max_tokens":100,"max_completion_tokens":5)").body);
  EXPECT_EQ(body.at("choices").at(0).at("message").at("content"), "Hello");
  EXPECT_EQ(body.at("choices").at(0).at("finish_reason"), "length");
  EXPECT_TRUE(body.at("choices").at(0).at("matched_stop").is_null());
}

}  // namespace
}  // namespace foretoken
