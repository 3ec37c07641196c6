// Ids of tokens and details of choices, as SGLang's clients ask for them.

#include <gtest/gtest.h>

#include "server/testing/chat_fixture.h"

namespace foretoken {
namespace {

namespace json = boost::json;

std::vector<Token> tokens_of(const json::value& list) {
  std::vector<Token> out;
  for (const auto& token : list.as_array()) out.push_back(static_cast<Token>(token.as_int64()));
  return out;
}

class TokenIdsTest : public ChatTest {
 protected:
  json::value choice_of(const std::string& path, const std::string& body) {
    const auto reply = post(port, path, body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return json_of(reply.body).at("choices").at(0);
  }
  // Ids of a stream of chunks: of the prompt and of the answer.
  struct Ids {
    std::vector<Token> prompt, answer;
    int metas = 0, extensions = 0;
  };
  Ids streamed(const std::string& path, const std::string& body) {
    Ids out;
    for (const auto& event : sse_events(post(port, path, body).body)) {
      if (event == "[DONE]") continue;
      const auto chunk = json_of(event);
      if (chunk.as_object().contains("sglext")) ++out.extensions;
      for (const auto& choice : chunk.at("choices").as_array()) {
        const auto& fields = choice.as_object();
        if (fields.contains("prompt_token_ids")) {
          EXPECT_TRUE(out.prompt.empty());
          out.prompt = tokens_of(fields.at("prompt_token_ids"));
        }
        if (fields.contains("token_ids"))
          for (const Token token : tokens_of(fields.at("token_ids"))) out.answer.push_back(token);
        if (fields.contains("meta_info")) ++out.metas;
      }
    }
    return out;
  }
  const std::string hi = R"("messages":[{"role":"user","content":"Hi"}])";
};

TEST_F(TokenIdsTest, a_chat_shows_what_was_asked_for) {
  start();
  const auto plain = choice_of("/v1/chat/completions", "{" + hi + "}").as_object();
  for (const char* name : {"prompt_token_ids", "token_ids", "meta_info"})
    EXPECT_FALSE(plain.contains(name)) << name;
  const auto shown =
      choice_of("/v1/chat/completions", "{" + hi + R"(,"return_prompt_token_ids":true,"rid":"mine",
                                             "return_token_ids":true,"return_meta_info":true})");
  EXPECT_EQ(tokens_of(shown.at("prompt_token_ids")), engine.received().back().prompt.to_vector());
  EXPECT_EQ(tokens_of(shown.at("token_ids")), answer);
  EXPECT_EQ(shown.at("meta_info").at("id"), "mine");
  EXPECT_EQ(shown.at("meta_info").at("finish_reason").at("type"), "stop");
  EXPECT_EQ(shown.at("meta_info").at("completion_tokens"), answer.size());
}

TEST_F(TokenIdsTest, streams_show_each_token_once) {
  engine.tokens_per_step = 3;
  start();
  const auto chat =
      streamed("/v1/chat/completions", "{" + hi + R"(,"stream":true,"return_prompt_token_ids":true,
             "return_token_ids":true,"return_meta_info":true,"return_cached_tokens_details":true})");
  EXPECT_EQ(chat.prompt, engine.received().back().prompt.to_vector());
  EXPECT_EQ(chat.answer, answer);
  EXPECT_EQ(chat.metas, 1);
  EXPECT_EQ(chat.extensions, 1);
  const auto completion =
      streamed("/v1/completions", R"({"prompt":"ab","stream":true,"return_token_ids":true})");
  EXPECT_EQ(completion.prompt, byte_tokens("ab"));
  EXPECT_EQ(completion.answer, answer);
  EXPECT_EQ(completion.extensions, 0);
}

TEST_F(TokenIdsTest, completions_show_both_by_one_flag) {
  start();
  const auto choice =
      choice_of("/v1/completions", R"({"prompt":"ab","return_token_ids":true,"max_tokens":3})");
  EXPECT_EQ(tokens_of(choice.at("prompt_token_ids")), byte_tokens("ab"));
  EXPECT_EQ(tokens_of(choice.at("token_ids")), byte_tokens("Hel"));
}

TEST_F(TokenIdsTest, details_of_cached_tokens_are_told_beside_the_choices) {
  start();
  const auto body = json_of(chat(R"("return_cached_tokens_details":true)").body);
  EXPECT_TRUE(body.at("sglext").at("cached_tokens_details").at("device").is_int64());
  EXPECT_EQ(body.at("sglext").at("cached_tokens_details").at("host"), 0);
  EXPECT_FALSE(json_of(chat().body).as_object().contains("sglext"));
}

TEST_F(TokenIdsTest, generate_shows_the_ids_of_its_prompts) {
  start();
  const auto list = json_of(
      post(port, "/generate", R"({"text":["ab","c"],"return_prompt_token_ids":true})").body);
  EXPECT_EQ(tokens_of(list.at(0).at("prompt_token_ids")), byte_tokens("ab"));
  EXPECT_EQ(tokens_of(list.at(1).at("prompt_token_ids")), byte_tokens("c"));
}

TEST_F(TokenIdsTest, a_chat_may_be_given_as_ids) {
  config.tool_call_parser = "qwen25";
  answer_with("<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>");
  start();
  const auto choice = choice_of("/v1/chat/completions",
                                R"({"input_ids":[97,98],"tools":[{"type":"function",
                                    "function":{"name":"f"}}]})");
  EXPECT_EQ(engine.received().back().prompt.to_vector(), byte_tokens("ab"));
  EXPECT_EQ(choice.at("finish_reason"), "tool_calls");
  EXPECT_EQ(post(port, "/v1/chat/completions", "{" + hi + R"(,"input_ids":[99]})").status, 200);
  EXPECT_EQ(engine.received().back().prompt.to_vector(), byte_tokens("c"));
  EXPECT_EQ(refusal_of(R"("input_ids":[260])"), "input_ids must be in [0, 259], got 260.");
  EXPECT_EQ(refusal_of(R"("input_ids":"a")"),
            "body.input_ids: Input should be a valid list (found string)");
}

TEST_F(TokenIdsTest, each_prompt_may_have_a_salt_of_its_own) {
  start();
  for (const auto& [path, prompts] : {std::pair("/v1/completions", R"("prompt":["a","b"])"),
                                      std::pair("/generate", R"("text":["a","b"])")}) {
    const std::string body = std::string("{") + prompts;
    ASSERT_EQ(post(port, path, body + R"(,"cache_salt":["x","y"]})").status, 200);
    const auto& received = engine.received();
    EXPECT_NE(received.end()[-1].cache_salt, received.end()[-2].cache_salt);
    EXPECT_NE(received.end()[-1].cache_salt, 0U);
    ASSERT_EQ(post(port, path, body + R"(,"cache_salt":"x"})").status, 200);
    EXPECT_EQ(engine.received().end()[-1].cache_salt, engine.received().end()[-2].cache_salt);
    const auto wrong = post(port, path, body + R"(,"cache_salt":["x"]})");
    EXPECT_EQ(wrong.status, 400);
    EXPECT_NE(wrong.body.find("cache_salt"), std::string::npos);
  }
}

}  // namespace
}  // namespace foretoken
