// What the engine gets for what a body says: each field in its own place, at the borders of its
// range.
#include <set>

#include <gtest/gtest.h>

#include "server/testing/server_fixture.h"

namespace foretoken {
namespace {

class SamplingValuesTest : public ServerTest {
 protected:
  int generate(const std::string& sampling, const std::string& more = "") {
    return post(port, "/generate",
                R"({"text":"a","sampling_params":{)" + sampling + "}" + more + "}")
        .status;
  }
  // The engine's view of the last request.
  Request last() const { return engine.received().back(); }
};

TEST_F(SamplingValuesTest, every_field_reaches_its_own_parameter) {
  start();
  ASSERT_EQ(generate(R"("temperature":0.75,"top_p":0.875,"top_k":7,"min_p":0.125,
                        "frequency_penalty":0.25,"presence_penalty":-0.5,
                        "repetition_penalty":1.5,"max_new_tokens":9,"min_new_tokens":2,
                        "sampling_seed":5,"stop_token_ids":[3])"),
            200);
  const Request request = last();
  const SamplingParams& params = request.sampling;
  EXPECT_EQ(params.temperature, 0.75F);
  EXPECT_EQ(params.top_p, 0.875F);
  EXPECT_EQ(params.top_k, 7);
  EXPECT_EQ(params.min_p, 0.125F);
  EXPECT_EQ(params.frequency_penalty, 0.25F);
  EXPECT_EQ(params.presence_penalty, -0.5F);
  EXPECT_EQ(params.repetition_penalty, 1.5F);
  EXPECT_EQ(params.min_new_tokens, 2);
  EXPECT_EQ(params.seed, 5U);
  EXPECT_EQ(request.max_new_tokens, 9);
  EXPECT_EQ(std::set<Token>(params.stop_tokens.begin(), params.stop_tokens.end()),
            (std::set<Token>{3, kByteEos}));
}

TEST_F(SamplingValuesTest, end_tokens_stop_unless_they_are_ignored) {
  start();
  ASSERT_EQ(generate(R"("ignore_eos":true,"max_new_tokens":3)"), 200);
  EXPECT_TRUE(last().sampling.stop_tokens.empty());
  ASSERT_EQ(generate(R"("ignore_eos":0,"max_new_tokens":3)"), 200);
  EXPECT_EQ(last().sampling.stop_tokens, std::vector<Token>{kByteEos});
}

TEST_F(SamplingValuesTest, each_token_that_stops_is_named_once_and_can_be_drawn) {
  config.eos = {kByteEos, static_cast<Token>(config.vocab), -1, 7};
  start();
  ASSERT_EQ(generate(R"("stop_token_ids":[7,3])"), 200);
  EXPECT_EQ(last().sampling.stop_tokens, (std::vector<Token>{3, 7, kByteEos}));
}

TEST_F(SamplingValuesTest, ranges_end_where_they_are_said_to_end) {
  start();
  for (const char* refused :
       {R"("top_p":0)", R"("top_p":1.01)", R"("top_k":-2)", R"("min_p":-0.01)",
        R"("temperature":-0.01)", R"("frequency_penalty":2.01)", R"("presence_penalty":-2.01)",
        R"("repetition_penalty":0)", R"("max_new_tokens":-1)",
        R"("max_new_tokens":3,"min_new_tokens":4)"})
    EXPECT_EQ(generate(refused), 400) << refused;
  for (const char* accepted :
       {R"("top_p":1)", R"("top_k":1)", R"("top_k":0)", R"("top_k":-1)", R"("min_p":1)",
        R"("temperature":0)", R"("frequency_penalty":-2)", R"("presence_penalty":2)",
        R"("repetition_penalty":2)", R"("max_new_tokens":3,"min_new_tokens":3)"})
    EXPECT_EQ(generate(accepted), 200) << accepted;
}

TEST_F(SamplingValuesTest, a_prompt_leaves_room_for_one_token_at_least) {
  config.context_length = 16;
  start();
  const auto of_length = [&](std::size_t tokens) {
    std::string ids = "1";
    for (std::size_t i = 1; i < tokens; ++i) ids += ",1";
    return post(port, "/generate", R"({"input_ids":[)" + ids + "]}").status;
  };
  EXPECT_EQ(of_length(15), 200);
  EXPECT_EQ(last().max_new_tokens, 1);
  EXPECT_EQ(of_length(16), 400);
}

TEST_F(SamplingValuesTest, the_models_defaults_hold_where_the_request_is_silent) {
  config.sampling_defaults = {
      .temperature = 0.5, .top_p = 0.75, .min_p = 0.25, .repetition_penalty = 1.25, .top_k = 20};
  start();
  const auto complete = [&](const std::string& fields) {
    return post(port, "/v1/completions", R"({"prompt":"a","max_tokens":2)" + fields + "}").status;
  };
  ASSERT_EQ(complete(""), 200);
  EXPECT_EQ(last().sampling.temperature, 0.5F);
  EXPECT_EQ(last().sampling.top_p, 0.75F);
  EXPECT_EQ(last().sampling.min_p, 0.25F);
  EXPECT_EQ(last().sampling.repetition_penalty, 1.25F);
  EXPECT_EQ(last().sampling.top_k, 20);
  ASSERT_EQ(complete(R"(,"temperature":1,"top_p":0.5,"min_p":0,"repetition_penalty":1,"top_k":3)"),
            200);
  EXPECT_EQ(last().sampling.temperature, 1.0F);
  EXPECT_EQ(last().sampling.top_p, 0.5F);
  EXPECT_EQ(last().sampling.min_p, 0.0F);
  EXPECT_EQ(last().sampling.repetition_penalty, 1.0F);
  EXPECT_EQ(last().sampling.top_k, 3);
}

TEST_F(SamplingValuesTest, top_k_of_zero_is_off_whatever_the_model_says) {
  config.sampling_defaults.top_k = 20;
  start();
  ASSERT_EQ(post(port, "/v1/completions", R"({"prompt":"a","top_k":0})").status, 200);
  EXPECT_EQ(last().sampling.top_k, -1);
  ASSERT_EQ(generate(R"("top_k":0)"), 200);
  EXPECT_EQ(last().sampling.top_k, -1);
}

TEST_F(SamplingValuesTest, a_models_top_k_counts_from_one_on) {
  for (const auto& [of_model, used] :
       std::vector<std::pair<int, int>>{{2, 2}, {1, 1}, {0, -1}, {-1, -1}}) {
    config.sampling_defaults.top_k = of_model;
    start();
    ASSERT_EQ(post(port, "/v1/completions", R"({"prompt":"a"})").status, 200);
    EXPECT_EQ(last().sampling.top_k, used) << of_model;
    stop();
  }
}

TEST_F(SamplingValuesTest, a_small_min_p_arrives_as_it_was_sent) {
  start();
  for (const auto& [sent, used] : std::vector<std::pair<std::string, float>>{
           {"0.0005", 5e-4F}, {"1e-6", 1e-6F}, {"0", 0.0F}}) {
    ASSERT_EQ(generate(R"("min_p":)" + sent), 200);
    EXPECT_EQ(last().sampling.min_p, used);
  }
}

TEST_F(SamplingValuesTest, names_of_llama_cpps_clients_are_known) {
  start();
  const auto complete = [&](const std::string& fields) {
    return post(port, "/v1/completions", R"({"prompt":"a",)" + fields + "}").status;
  };
  ASSERT_EQ(complete(R"("repeat_penalty":1.25,"n_predict":7)"), 200);
  EXPECT_EQ(last().sampling.repetition_penalty, 1.25F);
  EXPECT_EQ(last().max_new_tokens, 7);
  ASSERT_EQ(complete(R"("repeat_penalty":1.25,"repetition_penalty":1.5,"n_predict":7,)"
                     R"("max_tokens":3)"),
            200);
  EXPECT_EQ(last().sampling.repetition_penalty, 1.5F);
  EXPECT_EQ(last().max_new_tokens, 3);
  ASSERT_EQ(complete(R"("n_predict":-1)"), 200);
  EXPECT_EQ(last().max_new_tokens, 511);  // all of the context
  EXPECT_EQ(complete(R"("n_predict":-3)"), 400);
  EXPECT_EQ(complete(R"("repeat_penalty":0)"), 400);
}

TEST_F(SamplingValuesTest, choices_of_one_seed_draw_differently) {
  start();
  ASSERT_EQ(generate(R"("n":3,"sampling_seed":11,"max_new_tokens":1)"), 200);
  std::set<std::uint64_t> seeds;
  for (const Request& request : engine.received()) seeds.insert(request.sampling.seed);
  EXPECT_EQ(seeds.size(), 3U);
  EXPECT_TRUE(seeds.contains(11));
}

TEST_F(SamplingValuesTest, keys_of_one_character_separate_prefix_caches) {
  start();
  std::set<std::uint64_t> salts;
  for (const char* more :
       {"", R"(,"extra_key":"a")", R"(,"extra_key":"b")", R"(,"cache_salt":"a")"}) {
    ASSERT_EQ(generate(R"("max_new_tokens":1)", more), 200);
    salts.insert(last().cache_salt);
  }
  EXPECT_EQ(salts.size(), 4U);
  EXPECT_TRUE(salts.contains(0));
}

}  // namespace
}  // namespace foretoken
