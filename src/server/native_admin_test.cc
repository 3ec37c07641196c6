#include <gtest/gtest.h>

#include "server/testing/server_fixture.h"

namespace foretoken {
namespace {

class AdminTest : public ServerTest {};

TEST_F(AdminTest, health_is_empty_and_well) {
  start();
  EXPECT_EQ(get(port, "/health").status, 200);
  EXPECT_EQ(get(port, "/health").body, "");
  EXPECT_EQ(get(port, "/health_generate").status, 200);
  EXPECT_EQ(engine.received().at(0).prompt, std::vector<Token>{0});
  EXPECT_EQ(engine.received().at(0).max_new_tokens, 1);
}

TEST_F(AdminTest, health_generate_fails_when_generation_fails) {
  engine.failure = Finish{FinishReason::kOutOfMemory, kNoToken, "no room"};
  start();
  EXPECT_NE(get(port, "/health_generate").status, 200);
}

TEST_F(AdminTest, models_are_listed_by_name) {
  config.served_model_name = "team/model";
  start();
  const auto list = json_of(get(port, "/v1/models", "Authorization: Bearer None\r\n").body);
  EXPECT_EQ(list.at("data").at(0).at("id"), "team/model");
  EXPECT_EQ(list.at("data").at(0).at("max_model_len"), 512);
  EXPECT_EQ(json_of(get(port, "/v1/models/team/model").body).at("object"), "model");
  const auto missing = get(port, "/v1/models/X");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(json_of(missing.body).at("error").at("message"), "The model 'X' does not exist");
  EXPECT_EQ(json_of(missing.body).at("error").at("code"), "model_not_found");
}

TEST_F(AdminTest, information_is_flat) {
  config.server_args = {{"model_path", "\"/models/bytes\""}, {"tp_size", "1"}};
  config.architectures = {"LlamaForCausalLM"};
  start();
  for (const char* path : {"/get_model_info", "/model_info"}) {
    const auto info = json_of(get(port, path).body);
    EXPECT_EQ(info.at("model_path"), "/models/bytes");
    EXPECT_EQ(info.at("is_generation"), true);
    EXPECT_EQ(info.at("architectures").at(0), "LlamaForCausalLM");
  }
  for (const char* path : {"/get_server_info", "/server_info"}) {
    const auto info = json_of(get(port, path).body);
    EXPECT_EQ(info.at("tp_size"), 1);
    EXPECT_EQ(info.at("max_total_num_tokens"), 4096);
    EXPECT_EQ(info.at("internal_states").at(0).at("memory_usage").at("token_capacity"), 4096);
  }
  EXPECT_EQ(json_of(get(port, "/get_load").body).at(0).at("num_reqs"), 0);
  EXPECT_EQ(json_of(get(port, "/v1/loads").body).at("loads").as_array().size(), 1U);
}

TEST_F(AdminTest, the_cache_is_flushed_only_when_idle) {
  answer = std::vector<Token>(400, 'a');
  engine.pace = std::chrono::milliseconds(5);
  start();
  EXPECT_EQ(get(port, "/flush_cache").status, 200);
  EXPECT_TRUE(post(port, "/flush_cache", "").body.starts_with("Cache flushed.\n"));
  HttpClient client(port);
  client.send("POST /generate HTTP/1.1\r\nContent-Length: 14\r\n\r\n{\"text\":\"abc\"}");
  ASSERT_TRUE(eventually([&] { return engine.running() == 1; }));
  EXPECT_EQ(post(port, "/flush_cache", "").status, 400);
}

TEST_F(AdminTest, metrics_count_requests) {
  start();
  post(port, "/generate", R"({"text":"abc"})");
  const auto page = get(port, "/metrics");
  EXPECT_EQ(page.status, 200);
  const std::string labels = "{";
  for (const char* line :
       {"sglang:num_requests_total", "sglang:prompt_tokens_total", "sglang:num_running_reqs",
        "sglang:time_to_first_token_seconds_bucket", "sglang:e2e_request_latency_seconds_count",
        "sglang:token_usage", "model_name=\"bytes\"", "sglang:max_total_num_tokens"})
    EXPECT_NE(page.body.find(line), std::string::npos) << line;
}

TEST_F(AdminTest, metrics_are_off_by_default) {
  config.enable_metrics = false;
  start();
  EXPECT_EQ(get(port, "/metrics").status, 404);
}

TEST_F(AdminTest, keys_guard_all_but_health_and_metrics) {
  config.api_key = "secret";
  config.admin_api_key = "boss";
  start();
  const auto denied = get(port, "/v1/models");
  EXPECT_EQ(denied.status, 401);
  EXPECT_EQ(denied.body, R"({"error":"Unauthorized"})");
  EXPECT_EQ(get(port, "/v1/models", "Authorization: Bearer secre\r\n").status, 401);
  EXPECT_EQ(get(port, "/v1/models", "Authorization: Bearer secrets\r\n").status, 401);
  EXPECT_EQ(get(port, "/v1/models", "Authorization: Bearer secret\r\n").status, 200);
  EXPECT_EQ(get(port, "/health").status, 200);
  EXPECT_EQ(get(port, "/health_generate").status, 200);
  EXPECT_EQ(get(port, "/metrics").status, 200);
  EXPECT_EQ(get(port, "/flush_cache", "Authorization: Bearer secret\r\n").status, 401);
  EXPECT_EQ(get(port, "/flush_cache", "Authorization: Bearer boss\r\n").status, 200);
}

TEST_F(AdminTest, tokenize_and_detokenize_are_inverse) {
  start();
  const auto tokens = json_of(post(port, "/tokenize", R"({"prompt":"Hi"})").body);
  EXPECT_EQ(tokens.at("tokens"), boost::json::value({72, 105}));
  EXPECT_EQ(tokens.at("count"), 2);
  EXPECT_EQ(tokens.at("max_model_len"), 512);
  const auto several = json_of(post(port, "/v1/tokenize", R"({"prompt":["H","i!"]})").body);
  EXPECT_EQ(several.at("count"), boost::json::value({1, 2}));
  EXPECT_EQ(json_of(post(port, "/detokenize", R"({"tokens":[72,105]})").body).at("text"), "Hi");
  EXPECT_EQ(json_of(post(port, "/v1/detokenize", R"({"tokens":[[72],[105,257]]})").body).at("text"),
            boost::json::value({"H", "i"}));
  EXPECT_EQ(post(port, "/tokenize", R"({"prompt":5})").status, 400);
  EXPECT_EQ(post(port, "/detokenize", R"({"tokens":"x"})").status, 400);
}

TEST_F(AdminTest, tokenizing_messages_shows_the_prompt) {
  start();
  const auto body = json_of(post(port, "/tokenize",
                                 R"({"messages":[{"role":"system","content":"S"}],
                                     "tools":[{}],"chat_template_kwargs":{"thinking":true},
                                     "add_generation_prompt":false})")
                                .body);
  EXPECT_EQ(body.at("prompt"), "<|bos|><|user|>system:S[1 tools][thinking]");
  EXPECT_EQ(body.at("tokens").at(0), kByteBos);
}

TEST_F(AdminTest, unknown_paths_methods_and_unsupported_routes_are_told_apart) {
  start();
  EXPECT_EQ(get(port, "/nowhere").status, 404);
  const auto wrong = get(port, "/generate");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_NE(wrong.head.find("allow: POST, PUT, OPTIONS"), std::string::npos);
  HttpClient client(port);
  const auto head = client.request("HEAD", "/v1/models");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(client.request("GET", "/health").status, 200);  // no body followed the head
  EXPECT_EQ(client.request("OPTIONS", "/v1/models").status, 204);
  const auto preflight =
      client.request("OPTIONS", "/v1/chat/completions", {},
                     "Origin: http://x\r\nAccess-Control-Request-Method: POST\r\n"
                     "Access-Control-Request-Headers: authorization\r\n");
  EXPECT_EQ(preflight.status, 200);
  EXPECT_NE(preflight.head.find("access-control-allow-origin: *"), std::string::npos);
  EXPECT_NE(preflight.head.find("access-control-allow-headers: authorization"), std::string::npos);
  const auto unsupported = post(port, "/v1/embeddings", "{}");
  EXPECT_EQ(unsupported.status, 400);
  EXPECT_NE(unsupported.body.find("/v1/embeddings is not supported"), std::string::npos);
}

}  // namespace
}  // namespace foretoken
