#include <future>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "server/context/server_context.h"
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

TEST_F(AdminTest, health_generate_does_not_queue_where_steps_end) {
  const auto now = std::chrono::steady_clock::now();
  engine.figures.running = 1;
  engine.figures.last_step = now;
  start();
  EXPECT_EQ(get(port, "/health_generate").status, 200);
  EXPECT_TRUE(engine.received().empty());
}

TEST_F(AdminTest, health_generate_asks_for_a_token_where_no_step_ends) {
  const auto now = std::chrono::steady_clock::now();
  engine.figures.running = 1;
  engine.figures.last_step = now - std::chrono::hours(1);
  start();
  EXPECT_EQ(get(port, "/health_generate").status, 200);
  EXPECT_EQ(engine.received().size(), 1U);
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
  config.backend = "cpu, tile order";
  config.startup_phases = {{"load_weight", 1.5}, {"e2e", 2.5}};
  config.weight_bytes = std::size_t{3} << 30;
  config.draft_weight_bytes = std::size_t{1} << 30;
  config.kv_bytes = std::size_t{2} << 30;
  config.max_running_requests = 7;
  start();
  for (const char* path : {"/get_model_info", "/model_info"}) {
    const auto info = json_of(get(port, path).body);
    EXPECT_EQ(info.at("model_path"), "/models/bytes");
    EXPECT_EQ(info.at("is_generation"), true);
    EXPECT_EQ(info.at("architectures").at(0), "LlamaForCausalLM");
    EXPECT_EQ(info.at("has_image_understanding"), false);
    EXPECT_EQ(info.at("has_audio_understanding"), false);
  }
  for (const char* path : {"/get_server_info", "/server_info"}) {
    const auto info = json_of(get(port, path).body);
    EXPECT_EQ(info.at("tp_size"), 1);
    EXPECT_EQ(info.at("backend"), "cpu, tile order");
    EXPECT_EQ(info.at("max_total_num_tokens"), 4096);
    EXPECT_EQ(info.at("startup_time").at("load_weight"), 1.5);
    EXPECT_EQ(info.at("startup_time").at("e2e"), 2.5);
    EXPECT_EQ(info.at("internal_states").at(0).at("effective_max_running_requests_per_dp"), 7);
    const auto& memory = info.at("internal_states").at(0).at("memory_usage");
    EXPECT_EQ(memory.at("token_capacity"), 4096);
    EXPECT_EQ(memory.at("weight"), 3);
    EXPECT_EQ(memory.at("draft_weight"), 1);
    EXPECT_EQ(memory.at("kvcache"), 2);
    EXPECT_EQ(memory.at("draft_kvcache"), 0);
  }
  EXPECT_EQ(json_of(get(port, "/get_load").body).at(0).at("num_reqs"), 0);
}

TEST_F(AdminTest, loads_have_sglangs_sections) {
  config.draft_nodes = 4;
  config.max_running_requests = 8;
  start();
  const auto loads = [&](const std::string& query) {
    return json_of(get(port, "/v1/loads" + query).body).at("loads").at(0).as_object();
  };
  const auto all = loads("");
  EXPECT_EQ(all.at("dp_rank"), 0);
  EXPECT_EQ(all.at("num_running_reqs"), 0);
  EXPECT_EQ(all.at("max_running_requests"), 8);
  EXPECT_EQ(all.at("memory").at("token_capacity"), all.at("max_total_num_tokens"));
  EXPECT_EQ(all.at("speculative").at("accept_length"), 1);
  EXPECT_EQ(all.at("disaggregation").at("mode"), "null");
  EXPECT_EQ(all.at("queues").at("waiting"), 0);
  const auto some = loads("?include=memory,%20spec&dp_rank=0&format=json");
  EXPECT_TRUE(some.contains("memory"));
  EXPECT_TRUE(some.contains("speculative"));
  EXPECT_FALSE(some.contains("queues"));
  EXPECT_FALSE(some.contains("num_running_reqs"));
  EXPECT_TRUE(loads("?include=core,all").contains("queues"));
  EXPECT_TRUE(json_of(get(port, "/v1/loads").body).at("timestamp").is_string());
}

TEST_F(AdminTest, loads_may_be_metrics) {
  start();
  const auto reply = get(port, "/v1/loads?format=prometheus&include=core,disagg,queues");
  EXPECT_NE(reply.head.find("text/plain"), std::string::npos);
  EXPECT_NE(reply.body.find("# TYPE sglang_num_running_reqs gauge\n"
                            "sglang_num_running_reqs{dp_rank=\"0\"} 0\n"),
            std::string::npos)
      << reply.body;
  EXPECT_NE(reply.body.find("sglang_queues_waiting{dp_rank=\"0\"} 0\n"), std::string::npos);
  EXPECT_EQ(reply.body.find("memory"), std::string::npos);
  EXPECT_EQ(reply.body.find("mode"), std::string::npos);
  for (const char* query : {"?dp_rank=1", "?dp_rank=x", "?include=core,nothing", "?format=xml"})
    EXPECT_EQ(get(port, std::string("/v1/loads") + query).status, 400) << query;
}

TEST_F(AdminTest, the_mean_of_accepted_tokens_can_begin_anew) {
  AcceptanceMean mean;
  EXPECT_FALSE(mean.tokens_per_step({0, 0}));
  EXPECT_EQ(mean.tokens_per_step({6, 4}), 2.5);
  mean.forget({6, 4});
  EXPECT_FALSE(mean.tokens_per_step({6, 4}));
  EXPECT_EQ(mean.tokens_per_step({8, 6}), 2.0);

  start();
  const auto set = [&](const std::string& settings) {
    return post(port, "/set_internal_state", R"({"server_args":)" + settings + "}");
  };
  const auto done = set(R"({"speculative_accept_threshold_single":0.9,
                            "speculative_accept_threshold_acc":1})");
  EXPECT_EQ(done.status, 200);
  EXPECT_EQ(done.body, "[true]");
  EXPECT_EQ(set("{}").status, 200);
  const auto fault = set(R"({"max_running_requests":3})");
  EXPECT_EQ(fault.status, 400);
  EXPECT_EQ(json_of(fault.body).at("error").at("message"),
            "body.server_args.max_running_requests: settings are fixed at the start");
  EXPECT_EQ(set(R"({"speculative_accept_threshold_acc":"x"})").status, 400);
  EXPECT_EQ(post(port, "/set_internal_state", "{}").status, 400);
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

TEST_F(AdminTest, broken_invariants_of_the_engine_are_told) {
  start();
  const auto sound = get(port, "/check_integrity");
  EXPECT_EQ(sound.status, 200);
  EXPECT_EQ(sound.body, R"({"sound":true,"broken":""})");
  engine.broken = "page 3 has no owner";
  const auto broken = get(port, "/check_integrity");
  EXPECT_EQ(broken.status, 500);
  EXPECT_EQ(broken.body, R"({"sound":false,"broken":"page 3 has no owner"})");
}

TEST_F(AdminTest, who_waits_for_a_flush_holds_up_nobody) {
  std::promise<bool> flushed;
  engine.flush_answer = flushed.get_future().share();
  start();
  std::vector<std::unique_ptr<HttpClient>> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.push_back(std::make_unique<HttpClient>(port));
    waiting.back()->send("POST /flush_cache HTTP/1.1\r\n\r\n");
  }
  EXPECT_EQ(post(port, "/tokenize", R"({"prompt":"a"})").status, 200);
  flushed.set_value(true);
  for (auto& client : waiting) EXPECT_EQ(client->read_reply().status, 200);
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
  for (const char* key : {"secrets", "secreT", "Secret", "secre ", "terces", ""})
    EXPECT_EQ(get(port, "/v1/models", fmt::format("Authorization: Bearer {}\r\n", key)).status, 401)
        << key;
  EXPECT_EQ(get(port, "/v1/models", "Authorization: Bearer secret\r\n").status, 200);
  EXPECT_EQ(get(port, "/health").status, 200);
  EXPECT_EQ(get(port, "/health_generate").status, 200);
  EXPECT_EQ(get(port, "/metrics").status, 200);
  EXPECT_EQ(get(port, "/flush_cache", "Authorization: Bearer secret\r\n").status, 401);
  EXPECT_EQ(get(port, "/flush_cache", "Authorization: Bearer bosS\r\n").status, 401);
  EXPECT_EQ(get(port, "/flush_cache", "Authorization: Bearer boss\r\n").status, 200);
}

TEST_F(AdminTest, a_path_may_end_in_slashes) {
  start();
  EXPECT_EQ(get(port, "/health/").status, 200);
  EXPECT_EQ(get(port, "/metrics/").status, 200);
  EXPECT_EQ(json_of(get(port, "/v1/models//").body).at("object"), "list");
  EXPECT_EQ(post(port, "/generate/", R"({"text":"a"})").status, 200);
  EXPECT_EQ(get(port, "//").status, 200);
  EXPECT_EQ(get(port, "/ping").status, 200);
}

TEST_F(AdminTest, every_family_of_routes_has_one_shape_of_error) {
  config.max_body_bytes = 100;
  start();
  const std::string large(101, ' ');
  const std::string head(100'000, 'x');
  const auto check = [&](const char* path, int status, const ClientReply& reply) {
    EXPECT_EQ(reply.status, status) << path;
    EXPECT_NE(reply.head.find("content-type: application/json"), std::string::npos);
    const auto body = json_of(reply.body).as_object();
    if (std::string_view(path).starts_with("/v1/")) {
      EXPECT_EQ(body.at("object"), "error") << path << status;
      EXPECT_EQ(body.at("code"), status);
      EXPECT_TRUE(body.at("message").is_string() && body.at("type").is_string());
    } else {
      ASSERT_TRUE(body.contains("error")) << path << status << reply.body;
      EXPECT_TRUE(body.at("error").at("message").is_string());
    }
  };
  for (const char* path : {"/v1/completions", "/generate"}) {
    check(path, 413, post(port, path, large));
    check(path, 405, get(port, path));
    check(path, 400, post(port, path, "{"));
    check(path, 431, get(port, path, "X: " + head + "\r\n"));
    HttpClient plain(port);
    plain.send(
        fmt::format("POST {} HTTP/1.1\r\nContent-Type: text/plain\r\n"
                    "Content-Length: 2\r\n\r\n{{}}",
                    path));
    check(path, 415, plain.read_reply());
  }
  check("/v1/nothing", 404, get(port, "/v1/nothing"));
  check("/nothing", 404, get(port, "/nothing"));
}

TEST_F(AdminTest, bodies_are_json_or_refused_by_their_media_type) {
  config.allowed_origins = {"http://friend"};
  start();
  const auto status = [&](std::string_view path, std::string_view headers,
                          std::string_view body = R"({"text":"a"})") {
    HttpClient client(port);
    client.send(fmt::format("POST {} HTTP/1.1\r\n{}Content-Length: {}\r\n\r\n{}", path, headers,
                            body.size(), body));
    return client.read_reply().status;
  };
  for (const char* type : {"application/json", "Application/JSON; charset=utf-8",
                           "application/json ;charset=utf-8", "application/vnd.api+json"})
    EXPECT_EQ(status("/generate", fmt::format("Content-Type: {}\r\n", type)), 200) << type;
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded", "multipart/form-data",
                           "text/plain;application/json", "application/jsonx", "text/json+"})
    EXPECT_EQ(status("/generate", fmt::format("Content-Type: {}\r\n", type)), 415) << type;
  // Without a type: only a page of another origin would be posting blindly.
  EXPECT_EQ(status("/generate", ""), 200);
  const std::string json = "Content-Type: application/json\r\n";
  EXPECT_EQ(status("/generate", json + "Content-Encoding: gzip\r\n"), 415);
  EXPECT_EQ(status("/generate", json + "Content-Encoding: Identity\r\n"), 200);
  EXPECT_EQ(status("/generate", "Origin: http://friend\r\n"), 415);
  // Without a body there is nothing to misread.
  EXPECT_EQ(status("/flush_cache", "Content-Type: text/plain\r\n", ""), 200);
  EXPECT_EQ(engine.received().size(), 6U);
}

TEST_F(AdminTest, while_the_model_is_loaded_everything_is_answered_with_503) {
  HttpServer early(http_config(config));
  early.start(loading_service());
  const auto health = get(early.port(), "/health");
  EXPECT_EQ(health.status, 503);
  EXPECT_NE(health.head.find("retry-after: "), std::string::npos);
  EXPECT_EQ(json_of(get(early.port(), "/v1/models").body).at("message"),
            "the model is still being loaded");
  HttpClient eager(early.port());
  eager.send("POST /generate HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n");
  EXPECT_EQ(eager.read_reply().status, 503);
}

TEST_F(AdminTest, a_key_is_asked_for_before_the_body) {
  config.api_key = "secret";
  start();
  HttpClient stranger(port);
  stranger.send(
      "POST /generate HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 40000000\r\n\r\n");
  EXPECT_EQ(stranger.read_reply().status, 401);
  HttpClient lost(port);
  lost.send("POST /nowhere HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 40000000\r\n\r\n");
  EXPECT_EQ(lost.read_reply().status, 404);
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
  for (const char* tokens : {"[260]", "[72,-1]", "[[72],[2000000]]"}) {
    const auto reply = post(port, "/detokenize", R"({"tokens":)" + std::string(tokens) + "}");
    EXPECT_EQ(reply.status, 400) << tokens;
    EXPECT_NE(reply.body.find("is not in the vocabulary [0, 260)"), std::string::npos) << tokens;
  }
}

TEST_F(AdminTest, tokenizing_messages_shows_the_prompt) {
  start();
  const auto body = json_of(post(port, "/tokenize",
                                 R"({"messages":[{"role":"system","content":"S"}],
                                     "tools":[{"function":{"name":"f"}}],"chat_template_kwargs":{"thinking":true},
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
}

TEST_F(AdminTest, routes_that_sglang_has_beyond_these_say_why_not) {
  start();
  const auto refusal = [&](const std::string& method, const std::string& path) {
    const auto reply = HttpClient(port).request(method, path);
    EXPECT_EQ(reply.status, 400) << path;
    return reply.body;
  };
  const auto openai = json_of(refusal("POST", "/v1/rerank"));
  EXPECT_EQ(openai.at("object"), "error");
  EXPECT_TRUE(openai.at("message").as_string().starts_with("/v1/rerank is not supported: "));
  const auto native = json_of(refusal("GET", "/encode"));
  EXPECT_TRUE(
      native.at("error").at("message").as_string().starts_with("/encode is not supported: "));
  for (const char* path :
       {"/update_weights_from_tensor", "/update_weights_from_disk", "/configure_logging/",
        "/release_memory_occupation", "/v1/classify", "/vertex_generate", "/invocations",
        "/hicache/storage-backend", "/api/tags", "/slow_down"})
    refusal("POST", path);
  EXPECT_EQ(json_of(get(port, "/get_weight_version").body).at("weight_version"), "default");
}

}  // namespace
}  // namespace foretoken
