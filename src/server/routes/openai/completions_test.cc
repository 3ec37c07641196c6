#include <gtest/gtest.h>

#include "server/testing/server_fixture.h"

namespace foretoken {
namespace {

class CompletionTest : public ServerTest {
 protected:
  ClientReply complete(const std::string& fields) {
    return post(port, "/v1/completions", "{" + fields + "}");
  }
};

TEST_F(CompletionTest, a_text_is_continued_for_sixteen_tokens) {
  answer = byte_tokens("abcdefghijklmnopqrstuvwxyz");
  start();
  const auto body = json_of(complete(R"("prompt":"Say")").body);
  EXPECT_EQ(body.at("object"), "text_completion");
  EXPECT_EQ(body.at("choices").at(0).at("text"), "abcdefghijklmnop");
  EXPECT_EQ(body.at("choices").at(0).at("finish_reason"), "length");
  EXPECT_EQ(body.at("usage").at("prompt_tokens"), 3);
  EXPECT_EQ(engine.received().at(0).prompt, byte_tokens("Say"));
}

TEST_F(CompletionTest, every_form_of_prompt_is_read) {
  start();
  const auto ids = json_of(complete(R"("prompt":[72,105])").body);
  EXPECT_EQ(ids.at("choices").as_array().size(), 1U);
  const auto texts = json_of(complete(R"("prompt":["a","bc"],"n":2)").body);
  ASSERT_EQ(texts.at("choices").as_array().size(), 4U);
  EXPECT_EQ(texts.at("choices").at(3).at("index"), 3);
  EXPECT_EQ(texts.at("usage").at("prompt_tokens"), 3);
  const auto lists = json_of(complete(R"("prompt":[[72],[73,74]])").body);
  EXPECT_EQ(lists.at("choices").as_array().size(), 2U);
  const auto received = engine.received();
  ASSERT_EQ(received.size(), 7U);
  EXPECT_EQ(received[0].prompt, byte_tokens("Hi"));
  EXPECT_EQ(received[4].prompt, byte_tokens("bc"));
  EXPECT_EQ(received[6].prompt, byte_tokens("IJ"));
}

TEST_F(CompletionTest, echo_repeats_the_prompt_with_its_logprobs) {
  start();
  const auto body =
      json_of(complete(R"("prompt":"Hi","echo":true,"logprobs":1,"max_tokens":2)").body);
  const auto& choice = body.at("choices").at(0);
  EXPECT_EQ(choice.at("text"), "HiHe");
  const auto& logprobs = choice.at("logprobs");
  EXPECT_EQ(logprobs.at("tokens"), boost::json::value({"H", "i", "H", "e"}));
  EXPECT_EQ(logprobs.at("text_offset"), boost::json::value({0, 1, 2, 3}));
  EXPECT_TRUE(logprobs.at("token_logprobs").at(0).is_null());
  EXPECT_DOUBLE_EQ(logprobs.at("token_logprobs").at(3).as_double(), -0.25);
  EXPECT_TRUE(logprobs.at("top_logprobs").at(3).as_object().contains("e"));
}

TEST_F(CompletionTest, echoed_text_and_offsets_agree_about_tokens_that_are_not_shown) {
  text_options.adds_bos = true;
  start();
  const auto echo = [&](const std::string& prompt) {
    return json_of(complete("\"prompt\":" + prompt + R"(,"echo":true,"logprobs":0,"max_tokens":2)")
                       .body)
        .at("choices")
        .at(0);
  };
  auto choice = echo(R"("Hi")");
  EXPECT_EQ(choice.at("text"), "HiHe");
  EXPECT_EQ(choice.at("logprobs").at("tokens"),
            boost::json::value({"<|bos|>", "H", "i", "H", "e"}));
  EXPECT_EQ(choice.at("logprobs").at("text_offset"), boost::json::value({0, 0, 1, 2, 3}));
  choice = echo("[256,72,259,105]");
  EXPECT_EQ(choice.at("text"), "HiHe");
  EXPECT_EQ(choice.at("logprobs").at("text_offset"), boost::json::value({0, 0, 1, 1, 2, 3}));
  choice = echo(R"("a<|eos|>\u00e9z")");  // written out, so shown; two bytes are one character
  EXPECT_EQ(choice.at("text"), "a<|eos|>\u00E9zHe");
  EXPECT_EQ(choice.at("logprobs").at("text_offset"),
            boost::json::value({0, 0, 1, 8, 9, 9, 10, 11}));
}

TEST_F(CompletionTest, special_tokens_of_the_answer_take_no_room_unless_shown) {
  answer = {'a', kByteUser, 'b', 'c'};
  start();
  const auto offsets = [&](const std::string& fields) {
    return json_of(complete(R"("prompt":"x","logprobs":0,"max_tokens":4)" + fields).body)
        .at("choices")
        .at(0)
        .at("logprobs")
        .at("text_offset");
  };
  EXPECT_EQ(offsets(""), boost::json::value({0, 1, 1, 2}));
  EXPECT_EQ(offsets(R"(,"skip_special_tokens":false)"), boost::json::value({0, 1, 9, 10}));
}

TEST_F(CompletionTest, a_tokenizer_may_add_the_begin_token_and_a_client_may_refuse_it) {
  text_options.adds_bos = true;
  start();
  complete(R"("prompt":"Hi")");
  complete(R"("prompt":"Hi","add_special_tokens":false)");
  complete(R"("prompt":[72])");
  post(port, "/generate", R"({"text":"Hi"})");
  const auto received = engine.received();
  EXPECT_EQ(received.at(0).prompt, (SharedTokens{kByteBos, 'H', 'i'}));
  EXPECT_EQ(received.at(1).prompt, byte_tokens("Hi"));
  EXPECT_EQ(received.at(2).prompt, byte_tokens("H"));
  EXPECT_EQ(received.at(3).prompt, (SharedTokens{kByteBos, 'H', 'i'}));
  EXPECT_EQ(json_of(post(port, "/tokenize", R"({"prompt":"H"})").body).at("count"), 2);
  EXPECT_EQ(json_of(post(port, "/tokenize", R"({"prompt":"H","add_special_tokens":false})").body)
                .at("count"),
            1);
}

TEST_F(CompletionTest, text_that_cannot_fit_is_refused_without_tokenizing_it) {
  start();
  const auto message = [&](std::size_t bytes) {
    const auto reply = complete(R"("prompt":")" + std::string(bytes, 'z') + "\"");
    EXPECT_EQ(reply.status, 400);
    return std::string(json_of(reply.body).at("message").as_string());
  };
  EXPECT_EQ(message(20'000'000),
            "The input (at least 20000000 tokens) is longer than the model's context length (512 "
            "tokens).");
  EXPECT_NE(post(port, "/tokenize", R"({"prompt":")" + std::string(2'000'000, 'z') + "\"}")
                .body.find("too long to be tokenized: at most 1048576 bytes (found 2000000)"),
            std::string::npos);
  EXPECT_EQ(json_of(post(port, "/tokenize", R"({"prompt":")" + std::string(600, 'z') + "\"}").body)
                .at("count"),
            600)
      << "counting tokens is what it is for";
}

TEST_F(CompletionTest, a_prompt_can_be_scored_without_new_tokens) {
  start();
  const auto body =
      json_of(complete(R"("prompt":"Hi","echo":true,"logprobs":0,"max_tokens":0)").body);
  EXPECT_EQ(body.at("choices").at(0).at("text"), "Hi");
  EXPECT_EQ(body.at("choices").at(0).at("logprobs").at("tokens").as_array().size(), 2U);
  EXPECT_EQ(body.at("usage").at("completion_tokens"), 0);
}

TEST_F(CompletionTest, a_stream_joins_to_the_same_text) {
  start();
  const auto reply = complete(R"("prompt":"Hi","echo":true,"stream":true,"logprobs":0)");
  auto events = sse_events(reply.body);
  ASSERT_EQ(events.back(), "[DONE]");
  events.pop_back();
  std::string text;
  std::size_t tokens = 0;
  for (const auto& event : events) {
    const auto choice = json_of(event).at("choices").at(0);
    text += choice.at("text").as_string();
    tokens += choice.at("logprobs").at("tokens").as_array().size();
  }
  EXPECT_EQ(text, "HiHello, world!");
  EXPECT_EQ(tokens, 16U);
  EXPECT_EQ(json_of(events.back()).at("choices").at(0).at("finish_reason"), "stop");
}

TEST_F(CompletionTest, wrong_bodies_are_refused) {
  start();
  const auto message = [&](const std::string& fields) {
    const auto reply = complete(fields);
    EXPECT_EQ(reply.status, 400) << fields;
    return std::string(json_of(reply.body).at("message").as_string());
  };
  EXPECT_EQ(message(""), "body.prompt: Field required");
  EXPECT_EQ(message(R"("prompt":"")"), "the prompt is empty: at least one token is needed");
  EXPECT_EQ(message(R"("prompt":[])"), "the prompt is empty: at least one token is needed");
  EXPECT_EQ(message(R"("prompt":[1,"a"])"),
            "body.prompt: Input should be a string, a list of strings, a list of integers or a "
            "list of lists of integers");
  EXPECT_EQ(message(R"("prompt":[300])"), "input_ids must be in [0, 259], got 300.");
  EXPECT_NE(message(R"("prompt":"x","suffix":"y")").find("suffix is not supported"),
            std::string::npos);
  EXPECT_NE(message(R"("prompt":"x","best_of":3)").find("best_of"), std::string::npos);
  EXPECT_EQ(message(R"("prompt":")" + std::string(512, 'a') + "\""),
            "The input (512 tokens) is longer than the model's context length (512 tokens).");
}

TEST_F(CompletionTest, an_overlong_prompt_is_cut_where_the_server_is_set_so) {
  config.allow_auto_truncate = true;
  start();
  EXPECT_EQ(complete(R"("prompt":")" + std::string(600, 'a') + "\"").status, 200);
  EXPECT_EQ(engine.received().at(0).prompt.size(), 511U);
  EXPECT_EQ(engine.received().at(0).max_new_tokens, 1);
}

}  // namespace
}  // namespace foretoken
