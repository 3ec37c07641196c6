// Answers of /v1/chat/completions, whole and streamed; choices, logprobs, failures.

#include <chrono>
#include <cstdint>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "server/testing/chat_fixture.h"

namespace foretoken {
namespace {

namespace json = boost::json;

TEST_F(ChatTest, a_question_gets_the_whole_answer) {
  start();
  const auto reply = chat();
  ASSERT_EQ(reply.status, 200) << reply.body;
  const auto body = json_of(reply.body);
  EXPECT_EQ(body.at("object"), "chat.completion");
  EXPECT_EQ(body.at("model"), "any");
  const auto& choice = body.at("choices").at(0);
  EXPECT_EQ(choice.at("message").at("content"), "Hello, world!");
  EXPECT_EQ(choice.at("message").at("role"), "assistant");
  EXPECT_TRUE(choice.at("message").at("reasoning_content").is_null());
  EXPECT_TRUE(choice.at("message").at("tool_calls").is_null());
  EXPECT_EQ(choice.at("finish_reason"), "stop");
  EXPECT_EQ(choice.at("matched_stop"), kByteEos);
  EXPECT_TRUE(choice.at("logprobs").is_null());
  const auto prompt = engine.received().at(0).prompt;
  EXPECT_EQ(tokenizer().decode(prompt, SpecialText::kKeep), "<|bos|><|user|>user:Hi<|assistant|>");
  EXPECT_EQ(body.at("usage").at("prompt_tokens"), prompt.size());
  EXPECT_EQ(body.at("usage").at("completion_tokens"), 14);  // the stop token counts
  EXPECT_EQ(body.at("usage").at("total_tokens"), 14 + prompt.size());
  EXPECT_TRUE(body.at("usage").at("prompt_tokens_details").is_null());
  EXPECT_EQ(body.at("metadata").at("weight_version"), "default");
}

TEST_F(ChatTest, without_a_limit_the_context_is_the_limit) {
  start();
  ASSERT_EQ(chat(R"("ignore_eos":true)").status, 200);
  const Request request = engine.received().at(0);
  EXPECT_EQ(request.max_new_tokens, 512 - static_cast<int>(request.prompt.size()));
  EXPECT_TRUE(request.sampling.stop_tokens.empty());
}

TEST_F(ChatTest, cached_tokens_are_reported_where_the_server_is_set_so) {
  config.enable_cache_report = true;
  start();
  const auto body = json_of(chat().body);
  EXPECT_EQ(body.at("usage").at("prompt_tokens_details").at("cached_tokens"), 1);
}

TEST_F(ChatTest, a_stream_begins_with_the_role_and_ends_with_the_reason) {
  start();
  const auto chunks = stream(R"("stream_options":{"include_usage":true})");
  ASSERT_GE(chunks.size(), 4U);
  EXPECT_EQ(chunks.front().at("object"), "chat.completion.chunk");
  EXPECT_EQ(chunks.front().at("choices").at(0).at("delta").at("role"), "assistant");
  EXPECT_EQ(chunks.front().at("choices").at(0).at("delta").at("content"), "");
  EXPECT_EQ(content_of(chunks), "Hello, world!");
  const auto& last = chunks[chunks.size() - 2].at("choices").at(0);
  EXPECT_EQ(last.at("finish_reason"), "stop");
  EXPECT_EQ(last.at("matched_stop"), kByteEos);
  EXPECT_TRUE(last.at("delta").at("content").is_null());
  EXPECT_TRUE(chunks.back().at("choices").as_array().empty());
  EXPECT_EQ(chunks.back().at("usage").at("completion_tokens"), 14);
  for (std::size_t i = 0; i + 1 < chunks.size(); ++i) EXPECT_TRUE(chunks[i].at("usage").is_null());
}

TEST_F(ChatTest, continuous_usage_counts_up) {
  start();
  std::int64_t before = 0;
  for (const auto& chunk : stream(R"("stream_options":{"continuous_usage_stats":true})")) {
    const auto count = chunk.at("usage").at("completion_tokens").as_int64();
    EXPECT_GE(count, before);
    before = count;
  }
  EXPECT_EQ(before, 14);
}

TEST_F(ChatTest, a_stream_never_holds_half_a_character) {
  answer_with("caf\xC3\xA9 \xF0\x9F\x98\x80 \xE2\x82\xAC!");
  start();
  const auto chunks = stream("");
  EXPECT_EQ(content_of(chunks), "caf\xC3\xA9 \xF0\x9F\x98\x80 \xE2\x82\xAC!");
  for (const auto& chunk : chunks)
    for (const auto& choice : chunk.at("choices").as_array())
      if (choice.at("delta").at("content").is_string()) {
        EXPECT_EQ(choice.at("delta").at("content").as_string().find("\xEF\xBF\xBD"),
                  json::string::npos);
      }
}

TEST_F(ChatTest, an_answer_cut_inside_a_character_ends_with_a_replacement) {
  answer_with("\xE2\x82\xAC");
  start();
  const auto body = json_of(chat(R"("max_tokens":2)").body);
  EXPECT_EQ(body.at("choices").at(0).at("message").at("content"), "\xEF\xBF\xBD");
  EXPECT_EQ(content_of(stream(R"("max_tokens":2)")), "\xEF\xBF\xBD");
}

TEST_F(ChatTest, logprobs_carry_bytes_and_alternatives) {
  answer_with("\xC3\xA9");
  start();
  const auto body = json_of(chat(R"("logprobs":true,"top_logprobs":2)").body);
  const auto& content = body.at("choices").at(0).at("logprobs").at("content").as_array();
  ASSERT_EQ(content.size(), 3U);
  EXPECT_EQ(content[0].at("token"), "\xEF\xBF\xBD");
  EXPECT_EQ(content[0].at("bytes"), json::value(json::array{0xC3}));
  EXPECT_DOUBLE_EQ(content[0].at("logprob").as_double(), -0.25);
  ASSERT_EQ(content[0].at("top_logprobs").as_array().size(), 2U);
  EXPECT_EQ(content[0].at("top_logprobs").at(1).at("bytes"), json::value(json::array{0xC4}));
  std::size_t streamed = 0;
  for (const auto& chunk : stream(R"("logprobs":true)"))
    if (const auto& logprobs = chunk.at("choices").at(0).at("logprobs"); logprobs.is_object())
      streamed += logprobs.at("content").as_array().size();
  EXPECT_EQ(streamed, 3U);
}

TEST_F(ChatTest, several_choices_have_their_own_seeds_and_share_the_prompt_count) {
  start();
  const auto body = json_of(chat(R"("n":3,"seed":7)").body);
  ASSERT_EQ(body.at("choices").as_array().size(), 3U);
  const auto received = engine.received();
  ASSERT_EQ(received.size(), 3U);
  EXPECT_EQ(received[0].sampling.seed, 7U);
  EXPECT_EQ(received[1].sampling.seed, mix_seed(7, 1));
  EXPECT_EQ(received[2].sampling.seed, mix_seed(7, 2));
  EXPECT_EQ(received[1].id, std::string(body.at("id").as_string()) + "_1");
  EXPECT_EQ(body.at("usage").at("prompt_tokens"), received[0].prompt.size());
  EXPECT_EQ(body.at("usage").at("completion_tokens"), 42);
  const auto chunks = stream(R"("n":3)");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(content_of(chunks, i), "Hello, world!");
}

TEST_F(ChatTest, requests_without_a_seed_differ) {
  start();
  for (int i = 0; i < 3; ++i) chat();
  std::set<std::uint64_t> seeds;
  for (const auto& request : engine.received()) seeds.insert(request.sampling.seed);
  EXPECT_EQ(seeds.size(), 3U);
}

TEST_F(ChatTest, a_failure_before_the_first_token_is_an_error_status) {
  engine.failure = Finish{FinishReason::kOutOfMemory, kNoToken, "no room"};
  start();
  const auto reply = chat();
  EXPECT_EQ(reply.status, 500);
  EXPECT_EQ(json_of(reply.body).at("message"), "no room");
  EXPECT_EQ(chat(R"("stream":true)").status, 500);
}

TEST_F(ChatTest, a_failure_in_a_stream_is_an_error_event) {
  engine.failure = Finish{FinishReason::kDeadline, kNoToken, "too late"};
  // Late enough for the first token to be under way, else the failure is an error status.
  engine.failure_after = 10;
  engine.pace = std::chrono::milliseconds(10);
  start();
  const auto chunks = stream("");
  ASSERT_FALSE(chunks.empty());
  EXPECT_EQ(chunks.back().at("error").at("message"), "too late");
  EXPECT_EQ(chunks.back().at("error").at("code"), 503);
}

TEST_F(ChatTest, a_full_queue_is_reported_with_its_status) {
  engine.refusal = Refusal{"the queue is full", 503};
  start();
  for (const char* fields : {"", R"("stream":true)"}) {
    const auto reply = chat(fields);
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(json_of(reply.body).at("message"), "the queue is full");
  }
}

}  // namespace
}  // namespace foretoken
