// Bodies of /generate that are refused, and limits of those that are not.

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "server/testing/generate_fixture.h"

namespace foretoken {
namespace {

TEST_F(GenerateTest, a_request_may_ask_for_less_time_than_the_server_gives_and_not_for_more) {
  using Seconds = std::chrono::duration<double>;
  config.request_timeout_seconds = 100;
  start();
  const auto given = [&](const std::string& field) {
    const auto before = std::chrono::steady_clock::now();
    EXPECT_EQ(generate(R"("text":"Hi")" + field).status, 200);
    const auto deadline = engine.received().back().deadline;
    EXPECT_TRUE(deadline.has_value());
    return deadline ? Seconds(*deadline - before).count() : 0.0;
  };
  EXPECT_NEAR(given(""), 100, 10);
  EXPECT_NEAR(given(R"(,"timeout_seconds":1000)"), 100, 10);
  EXPECT_NEAR(given(R"(,"timeout_seconds":50)"), 50, 10);
}

TEST_F(GenerateTest, sampling_params_are_refused_with_sglangs_texts) {
  start();
  EXPECT_EQ(sampling_refusal(R"("temperature":-0.5)"),
            "temperature must be a non-negative finite number, got -0.5.");
  EXPECT_EQ(sampling_refusal(R"("temperature":1e999)"),
            "temperature must be a non-negative finite number, got inf.");
  EXPECT_EQ(sampling_refusal(R"("top_p":0)"), "top_p must be in (0, 1], got 0.");
  EXPECT_EQ(sampling_refusal(R"("top_p":1.5)"), "top_p must be in (0, 1], got 1.5.");
  EXPECT_EQ(sampling_refusal(R"("min_p":2.0)"), "min_p must be in [0, 1], got 2.0.");
  EXPECT_EQ(sampling_refusal(R"("top_k":-2)"), "top_k must be -1 (disable) or at least 1, got -2.");
  EXPECT_EQ(sampling_refusal(R"("frequency_penalty":3)"),
            "frequency_penalty must be in [-2, 2], got 3.");
  EXPECT_EQ(sampling_refusal(R"("presence_penalty":-3)"),
            "presence_penalty must be in [-2, 2], got -3.");
  EXPECT_EQ(sampling_refusal(R"("repetition_penalty":0)"),
            "repetition_penalty must be in (0, 2] (1.0 = no penalty), got 0.");
  EXPECT_EQ(sampling_refusal(R"("min_new_tokens":-1)"),
            "min_new_tokens must be in [0, max_new_tokens], got -1.");
  EXPECT_EQ(sampling_refusal(R"("min_new_tokens":9,"max_new_tokens":8)"),
            "min_new_tokens must be in [0, max_new_tokens(8)], got 9.");
  EXPECT_EQ(sampling_refusal(R"("max_new_tokens":-1)"),
            "max_new_tokens must be at least 0, got -1.");
  EXPECT_EQ(sampling_refusal(R"("logit_bias":{"300":1})"),
            "logit_bias must have keys in [0, 259], got 300.");
  EXPECT_EQ(sampling_refusal(R"("regex":"a","ebnf":"b")"),
            "Only one of json_schema, regex, ebnf, or structural_tag can be set.");
  EXPECT_EQ(sampling_refusal(R"("max_tokens":5)"), "sampling_params has no field 'max_tokens'");
  EXPECT_EQ(sampling_refusal(R"("max_new_tokens":9223372036854775807)"),
            "Requested token count exceeds the model's maximum context length of 512 tokens. You "
            "requested a total of 9223372036854775809 tokens: 2 tokens from the input messages and "
            "9223372036854775807 tokens for the completion. Please reduce the number of tokens in "
            "the input messages or the completion to fit within the limit.");
}

TEST_F(GenerateTest, other_wrong_bodies_are_refused) {
  start();
  EXPECT_EQ(refusal_of(""), "Either text or input_ids should be provided, and not both.");
  EXPECT_EQ(refusal_of(R"("text":"a","input_ids":[1])"),
            "Either text or input_ids should be provided, and not both.");
  EXPECT_EQ(refusal_of(R"("input_ids":[-1])"), "input_ids must be in [0, 259], got -1.");
  EXPECT_EQ(refusal_of(R"("input_ids":[[1],2])"),
            "body.input_ids: Input should be a list of integers or a list of lists of integers");
  EXPECT_EQ(refusal_of(R"("text":"a","logprob_start_len":9,"return_logprob":true)"),
            "logprob_start_len (9) is higher than the number of input tokens (1).");
  EXPECT_NE(refusal_of(R"("text":"a","image_data":"x")").find("image_data is not supported"),
            std::string::npos);
  EXPECT_NE(refusal_of(R"("text":["a","a"],"rid":["x","x"])").find("Duplicate request ID"),
            std::string::npos);
}

TEST_F(GenerateTest, stop_strings_are_bounded_in_number_and_bytes) {
  start();
  EXPECT_EQ(sampling_refusal(R"("stop":")" + std::string(1'000'000, 'x') + "\""),
            "sampling_params.stop: at most 8192 bytes of stop strings (found 1000000)");
  std::string many = "\"a\"";
  for (int i = 0; i < 128; ++i) many += ",\"b\"";
  EXPECT_EQ(sampling_refusal(R"("stop":[)" + many + "]"),
            "sampling_params.stop: at most 128 stop strings (found 129)");
  EXPECT_EQ(generate(R"("text":"Hi","sampling_params":{"stop":")" + std::string(8192, 'x') + "\"}")
                .status,
            200);
}

TEST_F(GenerateTest, stop_ids_of_another_vocabulary_never_match_and_the_others_are_a_set) {
  start();
  EXPECT_EQ(
      generate(
          R"("text":"Hi","sampling_params":{"stop_token_ids":[128009,101,7,101,-5,257,2000000000]})")
          .status,
      200);
  EXPECT_EQ(engine.received().at(0).sampling.stop_tokens, (std::vector<Token>{7, 101, 257}));
  std::string many = "1";
  for (int i = 0; i < 1024; ++i) many += ",1";
  EXPECT_EQ(sampling_refusal(R"("stop_token_ids":[)" + many + "]"),
            "sampling_params.stop_token_ids: at most 1024 ids (found 1025)");
}

TEST_F(GenerateTest, a_token_has_one_bias_and_one_spelling) {
  start();
  for (const char* key : {"01", "001", "+1", " 1", "1.0", "-0", "00", "0x1", ""})
    EXPECT_EQ(sampling_refusal(R"("logit_bias":{")" + std::string(key) + R"(":1})"),
              "logit_bias must have keys in [0, 259], got " + std::string(key) + ".");
  std::string many = R"("0":1)";
  for (int i = 1; i <= 1024; ++i) many += ",\"" + std::to_string(i) + "\":1";
  EXPECT_EQ(sampling_refusal(R"("logit_bias":{)" + many + "}"),
            "sampling_params.logit_bias: at most 1024 tokens (found 1025)");
}

TEST_F(GenerateTest, logprobs_may_be_asked_of_the_whole_vocabulary_and_no_more) {
  start();
  const std::string body =
      R"("text":"Hi","return_logprob":true,"sampling_params":{"max_new_tokens":1},)";
  const auto reply = generate(body + R"("top_logprobs_num":260)");
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(refusal_of(body + R"("top_logprobs_num":261)"),
            "top_logprobs_num must be in [0, 260], got 261.");
  EXPECT_EQ(refusal_of(body + R"("token_ids_logprob":[260])"),
            "token_ids_logprob contains out-of-vocabulary token id 260; valid range is [0, 260).");
  EXPECT_EQ(refusal_of(body + R"("token_ids_logprob":[[1]])"),
            "token_ids_logprob must be a flat list of integers.");
  EXPECT_EQ(refusal_of(R"("text":"Hi","token_ids_logprob":[-1])"),
            "token_ids_logprob contains out-of-vocabulary token id -1; valid range is [0, 260).");
}

TEST_F(GenerateTest, an_answer_that_could_not_be_held_is_refused_and_a_default_length_shrinks) {
  config.context_length = 1 << 20;
  config.vocab = 100'000;
  start();
  const auto refusal = sampling_refusal(R"("n":256,"max_new_tokens":1000000)");
  EXPECT_EQ(refusal.find("the answer could take up to 23439 MiB of memory, more than the 512 MiB"),
            0U)
      << refusal;
  EXPECT_NE(refusal_of(R"("text":"Hi","return_logprob":true,"top_logprobs_num":90000,
                          "sampling_params":{"max_new_tokens":1000})")
                .find("ask for fewer"),
            std::string::npos);
  EXPECT_NE(
      refusal_of(R"("text":["a","b","c","d"],"sampling_params":{"n":64,"max_new_tokens":50000})")
          .find("ask for fewer"),
      std::string::npos)
      << "all prompts together count";
  // Each event of such a stream would repeat all logprobs so far.
  EXPECT_NE(refusal_of(R"("text":"Hi","stream":true,"return_logprob":true,"top_logprobs_num":1000,
                          "sampling_params":{"max_new_tokens":1000})")
                .find("more than the 32 MiB"),
            std::string::npos);
  ASSERT_EQ(generate(R"("text":"Hi","return_logprob":true,"top_logprobs_num":90000)").status, 200);
  EXPECT_EQ(engine.received().at(0).max_new_tokens, 62);
  EXPECT_EQ(engine.received().size(), 1U);
}

TEST_F(GenerateTest, a_batch_is_bounded_in_sequences) {
  start();
  std::string many = "[1]";
  for (int i = 0; i < 16384; ++i) many += ",[1]";
  EXPECT_EQ(refusal_of(R"("input_ids":[)" + many + "]"),
            "one request may have at most 16384 sequences");
}

TEST_F(GenerateTest, fields_are_refused_or_named_in_the_log_on_every_route) {
  start();
  EXPECT_EQ(refusal_of(R"("text":"a","guided_json":{"a":1})"),
            "guided_json is not supported: it belongs into sampling_params");
  for (const char* path : {"/v1/completions", "/v1/chat/completions"})
    EXPECT_NE(post(port, path,
                   R"({"prompt":"x","messages":[{"role":"user","content":"x"}],"grammar":"a"})")
                  .body.find("is not supported"),
              std::string::npos);
  EXPECT_EQ(generate(R"("text":"a","no_such_field":1,"log_metrics":true)").status, 200);
}

}  // namespace
}  // namespace foretoken
