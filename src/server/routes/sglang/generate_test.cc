// Answers of /generate, whole and streamed.

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "server/testing/generate_fixture.h"

namespace foretoken {
namespace {

namespace json = boost::json;

TEST_F(GenerateTest, a_text_gets_text_ids_and_meta_info) {
  start();
  const auto reply = generate(R"("text":"Hi","rid":"abc")");
  ASSERT_EQ(reply.status, 200) << reply.body;
  const auto body = json_of(reply.body);
  EXPECT_EQ(body.at("text"), "Hello, world!");
  EXPECT_EQ(body.at("output_ids").as_array().size(), 14U);
  const auto& meta = body.at("meta_info");
  EXPECT_EQ(meta.at("id"), "abc");
  EXPECT_EQ(meta.at("finish_reason"), json::value({{"type", "stop"}, {"matched", kByteEos}}));
  EXPECT_EQ(meta.at("prompt_tokens"), 2);
  EXPECT_EQ(meta.at("completion_tokens"), 14);
  EXPECT_EQ(meta.at("cached_tokens"), 1);
  EXPECT_EQ(meta.at("total_retractions"), 0);
  EXPECT_EQ(meta.at("reasoning_tokens"), 0);
  EXPECT_EQ(meta.at("weight_version"), "default");
  EXPECT_GT(meta.at("e2e_latency").to_number<double>(), 0.0);
  EXPECT_FALSE(meta.as_object().contains("spec_verify_ct"));
  EXPECT_FALSE(meta.as_object().contains("output_token_logprobs"));
  EXPECT_EQ(engine.received().at(0).max_new_tokens, 128);
}

TEST_F(GenerateTest, a_length_of_null_is_the_whole_context) {
  start();
  EXPECT_EQ(generate(R"("text":"Hi","sampling_params":{"max_new_tokens":null})").status, 200);
  EXPECT_EQ(engine.received().at(0).max_new_tokens, 510);
}

TEST_F(GenerateTest, the_default_length_shrinks_to_the_context_but_an_asked_one_is_refused) {
  start();
  const std::string prompt = R"("text":")" + std::string(500, 'a') + "\"";
  EXPECT_EQ(generate(prompt).status, 200);
  EXPECT_EQ(engine.received().at(0).max_new_tokens, 12);
  EXPECT_NE(refusal_of(prompt + R"(,"sampling_params":{"max_new_tokens":13})")
                .find("a total of 513 tokens: 500 tokens from the input messages and 13 tokens"),
            std::string::npos);
}

TEST_F(GenerateTest, ids_and_put_work_as_well) {
  start();
  const auto reply = HttpClient(port).request(
      "PUT", "/generate", R"({"input_ids":[72],"sampling_params":{"max_new_tokens":5}})");
  const auto body = json_of(reply.body);
  EXPECT_EQ(body.at("text"), "Hello");
  EXPECT_EQ(body.at("meta_info").at("finish_reason"),
            json::value({{"type", "length"}, {"length", 5}}));
}

TEST_F(GenerateTest, a_batch_gets_a_list_in_order) {
  start();
  const auto body = json_of(
      generate(
          R"("text":["a","bb"],"rid":["r1","r2"],"sampling_params":[{"max_new_tokens":1},{"n":2,"max_new_tokens":2}])")
          .body);
  ASSERT_EQ(body.as_array().size(), 3U);
  EXPECT_EQ(body.at(0).at("meta_info").at("id"), "r1");
  EXPECT_EQ(body.at(0).at("text"), "H");
  EXPECT_EQ(body.at(1).at("meta_info").at("id"), "r2_0");
  EXPECT_EQ(body.at(2).at("meta_info").at("id"), "r2_1");
  EXPECT_EQ(body.at(2).at("text"), "He");
  EXPECT_NE(refusal_of(R"("text":["a","b"],"sampling_params":[{}])").find("sampling_params (1)"),
            std::string::npos);
}

TEST_F(GenerateTest, streamed_text_is_cumulative) {
  start();
  auto events = sse_events(generate(R"("text":"Hi","stream":true)").body);
  ASSERT_EQ(events.back(), "[DONE]");
  events.pop_back();
  std::string before;
  for (const auto& event : events) {
    const auto body = json_of(event);
    const std::string text(body.at("text").as_string());
    EXPECT_TRUE(text.starts_with(before));
    before = text;
    const bool last = &event == &events.back();
    EXPECT_EQ(body.at("meta_info").at("finish_reason").is_null(), !last);
    EXPECT_EQ(body.at("meta_info").as_object().contains("e2e_latency"), last);
  }
  EXPECT_EQ(before, "Hello, world!");
}

TEST_F(GenerateTest, deltas_are_streamed_where_the_server_is_set_so) {
  config.incremental_streaming_output = true;
  start();
  auto events = sse_events(generate(R"("text":"Hi","stream":true)").body);
  events.pop_back();
  std::string text;
  std::size_t ids = 0;
  for (const auto& event : events) {
    text += json_of(event).at("text").as_string();
    ids += json_of(event).at("output_ids").as_array().size();
  }
  EXPECT_EQ(text, "Hello, world!");
  EXPECT_EQ(ids, 14U);
}

TEST_F(GenerateTest, the_stream_interval_counts_tokens_between_events) {
  start();
  auto events = sse_events(
      generate(R"("text":"Hi","stream":true,"sampling_params":{"stream_interval":100})").body);
  EXPECT_EQ(events.size(), 3U);  // the first token, the end, [DONE]
}

// An event shows at least --stream-interval new tokens. The machine decides how many more it shows,
// so the test asks until an event shows exactly that number.
TEST_F(GenerateTest, an_event_is_due_with_as_many_tokens_as_the_servers_interval) {
  config.stream_interval = 5;
  config.incremental_streaming_output = true;
  answer = std::vector<Token>(101, 'a');
  for (const int tokens_per_step : {1, 5}) {
    engine.tokens_per_step = tokens_per_step;
    start();
    bool exact = false;
    for (int tries = 0; tries < 100 && !exact; ++tries) {
      auto events = sse_events(
          generate(R"("text":"Hi","stream":true,"sampling_params":{"max_new_tokens":101})").body);
      events.pop_back();
      for (std::size_t i = 1; i + 1 < events.size(); ++i) {
        const std::size_t fresh = json_of(events[i]).at("output_ids").as_array().size();
        EXPECT_GE(fresh, 5U);
        exact = exact || fresh == 5;
      }
    }
    EXPECT_TRUE(exact) << tokens_per_step;
    stop();
  }
}

TEST_F(GenerateTest, logprobs_are_triples) {
  start();
  const auto body = json_of(generate(R"("text":"Hi","return_logprob":true,"logprob_start_len":0,
      "top_logprobs_num":2,"token_ids_logprob":[5,6],"return_text_in_logprobs":true,
      "sampling_params":{"max_new_tokens":2})")
                                .body);
  const auto& meta = body.at("meta_info");
  EXPECT_EQ(meta.at("input_token_logprobs").at(0), json::value({nullptr, 72, "H"}));
  EXPECT_EQ(meta.at("input_token_logprobs").at(1), json::value({-0.25, 105, "i"}));
  EXPECT_EQ(meta.at("output_token_logprobs").at(1), json::value({-0.25, 101, "e"}));
  EXPECT_EQ(meta.at("output_token_logprobs_length"), 2);
  EXPECT_TRUE(meta.at("input_top_logprobs").at(0).is_null());
  EXPECT_EQ(meta.at("output_top_logprobs").at(0).as_array().size(), 2U);
  EXPECT_EQ(meta.at("output_token_ids_logprobs").at(0).at(1).at(1), 6);
  EXPECT_EQ(engine.received().at(0).logprob_start, 0);
  const auto plain = json_of(generate(R"("text":"Hi","return_logprob":true)").body);
  EXPECT_TRUE(plain.at("meta_info").at("input_token_logprobs").as_array().empty());
  EXPECT_TRUE(plain.at("meta_info").at("output_token_logprobs").at(0).at(2).is_null());
}

TEST_F(GenerateTest, a_drafting_server_reports_steps_without_proposals) {
  config.draft_nodes = 8;
  start();
  const auto meta = json_of(generate(R"("text":"Hi")").body).at("meta_info");
  EXPECT_EQ(meta.at("spec_draft_token_num"), 0);
  EXPECT_EQ(meta.at("spec_accept_rate").to_number<double>(), 0.0);
}

TEST_F(GenerateTest, speculation_is_reported_in_the_final_object_only) {
  engine.with_drafts = true;
  config.draft_nodes = 8;
  start();
  auto events = sse_events(generate(R"("text":"Hi","stream":true)").body);
  const auto first = json_of(events.front()).at("meta_info").as_object();
  const auto last = json_of(events[events.size() - 2]).at("meta_info");
  EXPECT_FALSE(first.contains("spec_verify_ct"));
  EXPECT_EQ(last.at("spec_verify_ct"), 7);
  EXPECT_DOUBLE_EQ(last.at("spec_accept_length").to_number<double>(), 2.0);
  EXPECT_NEAR(last.at("spec_accept_rate").as_double(), 1.0 / 3, 1e-9);
  EXPECT_EQ(last.at("spec_accepted_drafts"), 7);
  EXPECT_EQ(last.at("spec_num_proposed_drafts"), 21);
  EXPECT_EQ(last.at("spec_accept_histogram"), json::value({0, 7}));
}

TEST_F(GenerateTest, a_stop_string_cuts_text_ids_and_logprobs) {
  engine.tokens_per_step = 6;
  start();
  const auto body = json_of(
      generate(R"("text":"Hi","return_logprob":true,"sampling_params":{"stop":"lo"})").body);
  EXPECT_EQ(body.at("text"), "Hel");
  EXPECT_EQ(body.at("output_ids").as_array().size(), 5U);
  EXPECT_EQ(body.at("meta_info").at("output_token_logprobs").as_array().size(), 5U);
  EXPECT_EQ(body.at("meta_info").at("finish_reason"),
            json::value({{"type", "stop"}, {"matched", "lo"}}));
}

TEST_F(GenerateTest, the_choices_of_a_prompt_share_it) {
  start();
  ASSERT_EQ(generate(R"("text":"Hi","sampling_params":{"n":3,"max_new_tokens":1})").status, 200);
  const auto received = engine.received();
  ASSERT_EQ(received.size(), 3U);
  EXPECT_EQ(received[1].prompt.data(), received[0].prompt.data());
  EXPECT_EQ(received[2].prompt.data(), received[0].prompt.data());
}

TEST_F(GenerateTest, an_id_is_free_again_when_its_answer_has_ended) {
  engine.pace = std::chrono::microseconds(50);
  start();
  HttpClient client(port);
  for (int i = 0; i < 40; ++i) {
    const char* streamed = R"({"text":"a","rid":"same","stream":true})";
    const char* whole = R"({"text":"a","rid":"same"})";
    const char* refused = R"({"text":"a","rid":"same","sampling_params":{"n":0}})";
    EXPECT_EQ(client.request("POST", "/generate", i % 2 == 0 ? whole : streamed).status, 200);
    EXPECT_EQ(client.request("POST", "/generate", refused).status, 400);
  }
  engine.failure = Finish{FinishReason::kOutOfMemory, kNoToken, "no room"};
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(client.request("POST", "/generate", R"({"text":"a","rid":"same"})").status, 500);
}

TEST_F(GenerateTest, preferred_parameters_of_the_server_are_the_default) {
  config.preferred_sampling_params = R"({"temperature":0.25,"max_new_tokens":3})";
  start();
  generate(R"("text":"a","sampling_params":{"max_new_tokens":2})");
  EXPECT_FLOAT_EQ(engine.received().at(0).sampling.temperature, 0.25F);
  EXPECT_EQ(engine.received().at(0).max_new_tokens, 2);
}

TEST_F(GenerateTest, ids_only_without_a_tokenizer) {
  with_tokenizer = false;
  start();
  const auto body = json_of(generate(R"("input_ids":[1,2],"return_logprob":true)").body);
  EXPECT_EQ(body.at("output_ids").as_array().size(), 14U);
  EXPECT_FALSE(body.as_object().contains("text"));
  EXPECT_NE(refusal_of(R"("text":"Hi")").find("--skip-tokenizer-init"), std::string::npos);
  EXPECT_NE(refusal_of(R"("input_ids":[1],"sampling_params":{"stop":"x"})").find("stop_token_ids"),
            std::string::npos);
  for (const char* path : {"/v1/chat/completions", "/v1/completions", "/tokenize", "/detokenize"})
    EXPECT_EQ(post(port, path,
                   R"({"messages":[{"role":"user","content":"x"}],"prompt":"x","tokens":[1]})")
                  .status,
              400)
        << path;
}

TEST_F(GenerateTest, what_the_engine_gave_up_has_the_status_and_the_shape_of_an_http_error) {
  engine.failure = Finish{FinishReason::kDeadline, kNoToken, "Request waiting timeout reached."};
  start();
  for (const char* fields : {R"("text":"a")", R"("text":"a","stream":true)"}) {
    const auto reply = generate(fields);
    EXPECT_EQ(reply.status, 503);
    const auto body = json_of(reply.body);
    EXPECT_EQ(body.at("object"), "error");
    EXPECT_EQ(body.at("code"), 503);
    EXPECT_EQ(body.at("message"), "Request waiting timeout reached.");
  }
}

TEST_F(GenerateTest, an_aborted_request_says_so) {
  engine.pace = std::chrono::milliseconds(5);
  answer = std::vector<Token>(400, 'a');
  start();
  HttpClient client(port);
  const std::string body = R"({"text":"a","rid":"long","sampling_params":{"max_new_tokens":400}})";
  client.send("POST /generate HTTP/1.1\r\nContent-Length: " + std::to_string(body.size()) +
              "\r\n\r\n" + body);
  ASSERT_TRUE(eventually([&] { return engine.running() == 1; }));
  EXPECT_NE(refusal_of(R"("text":"b","rid":"long")").find("Duplicate request ID"),
            std::string::npos);
  EXPECT_EQ(post(port, "/abort_request", R"({"rid":"long"})").status, 200);
  const auto reply = client.read_reply();
  EXPECT_EQ(reply.status, 200);
  const auto answered = json_of(reply.body);
  const auto& reason = answered.at("meta_info").at("finish_reason");
  EXPECT_EQ(reason.at("type"), "abort");
  EXPECT_EQ(reason.at("message"), "Aborted");
  EXPECT_EQ(post(port, "/abort_request", "{}").status, 400);
}

}  // namespace
}  // namespace foretoken
