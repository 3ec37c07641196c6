// The values on the page of /metrics, of requests that went by and of what the engine counted.
#include "server/context/metrics.h"

#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "server/testing/metric_page.h"
#include "server/testing/server_fixture.h"

namespace foretoken {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

EngineStats busy_engine() {
  EngineStats stats;
  stats.running = 3;
  stats.queued = 5;
  stats.total_tokens = 1000;
  stats.used_tokens = 250;
  stats.cached_tokens = 500;
  stats.gen_throughput = 12.5;
  stats.cached_prompt_tokens = 64;
  stats.computed_prompt_tokens = 100;
  stats.generated_tokens = 70;
  stats.retractions = 2;
  stats.cache_hit_rate = 0.25;
  stats.verify_steps = 40;
  stats.accepted_drafts = 20;
  stats.proposed_drafts = 80;
  stats.prompt_step_seconds = 1.5;
  stats.decode_step_seconds = 2.5;
  stats.mixed_step_seconds = 3.5;
  for (const double seconds : {0.0005, 0.3, 2000.0}) stats.queue_time.add(seconds);
  stats.verify_time.add(0.004);
  stats.draft_time.add(0.0015);
  return stats;
}

// Values without labels.
void expect_values(const MetricPage& page,
                   const std::vector<std::pair<const char*, double>>& expected) {
  for (const auto& [name, value] : expected) EXPECT_EQ(page.value(name), value) << name;
}

TEST(Metrics, show_the_engine_as_it_is) {
  ServerConfig config;
  config.served_model_name = "m";
  const Metrics metrics(config);
  const MetricPage page(metrics.page(busy_engine()));
  EXPECT_EQ(page.value("num_running_reqs", {{"model_name", "m"}, {"engine_type", "unified"}}), 3);
  expect_values(page, {{"num_queue_reqs", 5},
                       {"num_grammar_queue_reqs", 0},
                       {"num_used_tokens", 250},
                       {"token_usage", 0.25},
                       {"utilization", 0.75},
                       {"max_total_num_tokens", 1000},
                       {"gen_throughput", 12.5},
                       {"cache_hit_rate", 0.25},
                       {"num_retracted_reqs", 2}});
  EXPECT_EQ(page.value("cache_config_info", {{"page_size", "16"}, {"num_pages", "62"}}), 1);
  EXPECT_EQ(page.value("realtime_tokens_total", {{"mode", "prefill_compute"}}), 100);
  EXPECT_EQ(page.value("realtime_tokens_total", {{"mode", "prefill_cache"}}), 64);
  EXPECT_EQ(page.value("realtime_tokens_total", {{"mode", "decode"}}), 70);
  EXPECT_EQ(page.value("forward_execution_seconds_total", {{"category", "extend"}}), 1.5);
  EXPECT_EQ(page.value("forward_execution_seconds_total", {{"category", "decode"}}), 2.5);
  EXPECT_EQ(page.value("forward_execution_seconds_total", {{"category", "mixed"}}), 3.5);
}

TEST(Metrics, show_what_became_of_drafts) {
  ServerConfig config;
  config.draft_method = "EAGLE3";
  config.draft_steps = 3;
  config.draft_nodes = 8;
  const Metrics metrics(config);
  const MetricPage page(metrics.page(busy_engine()));
  EXPECT_EQ(page.value("spec_accept_length"), 1.5);  // (20 + 40) / 40
  EXPECT_EQ(page.value("spec_accept_rate"), 0.25);
  EXPECT_EQ(page.value("spec_verify_calls_total"), 40);
  EXPECT_EQ(page.value("spec_num_steps"), 3);
  EXPECT_EQ(page.value("spec_num_draft_tokens"), 8);
  EXPECT_EQ(page.value("spec_verify_time_seconds_count", {{"method", "EAGLE3"}}), 1);
  EXPECT_EQ(page.value("spec_verify_time_seconds_sum"), 0.004);
  EXPECT_EQ(page.value("spec_verify_time_seconds_bucket", {{"le", "0.002"}}), 0);
  EXPECT_EQ(page.value("spec_verify_time_seconds_bucket", {{"le", "0.005"}}), 1);
  EXPECT_EQ(page.value("spec_draft_time_seconds_sum"), 0.0015);
}

TEST(Metrics, tell_drafters_apart_and_how_candidates_were_chosen) {
  ServerConfig config;
  EngineStats stats = busy_engine();
  stats.drafts.by_drafter[1] = {.proposed = 9, .accepted = 4};
  stats.drafts.greedy_rows = 20;
  stats.drafts.coupled_rows = 3;
  EXPECT_FALSE(MetricPage(Metrics(config).page(stats)).has("spec_proposed_drafts_total"));
  config.drafters = {"EAGLE3", "SUFFIX"};
  const MetricPage page(Metrics(config).page(stats));
  EXPECT_EQ(page.value("spec_proposed_drafts_total", {{"drafter", "SUFFIX"}}), 9);
  EXPECT_EQ(page.value("spec_accepted_drafts_total", {{"drafter", "SUFFIX"}}), 4);
  EXPECT_EQ(page.value("spec_accepted_drafts_total", {{"drafter", "EAGLE3"}}), 0);
  EXPECT_EQ(page.value("spec_candidate_rows_total", {{"choice", "greedy"}}), 20);
  EXPECT_EQ(page.value("spec_candidate_rows_total", {{"choice", "coupled"}}), 3);
}

TEST(Metrics, without_drafts_no_acceptance_is_shown) {
  const ServerConfig config;
  const Metrics metrics(config);
  EngineStats stats = busy_engine();
  stats.accepted_drafts = stats.proposed_drafts = 0;
  const MetricPage page(metrics.page(stats));
  EXPECT_EQ(page.value("spec_accept_length"), 0);
  EXPECT_EQ(page.value("spec_accept_rate"), 0);
  EXPECT_EQ(page.value("spec_verify_time_seconds_count", {{"method", "none"}}), 1);
}

TEST(Metrics, queue_times_fall_into_cumulative_buckets) {
  const ServerConfig config;
  const Metrics metrics(config);
  const MetricPage page(metrics.page(busy_engine()));
  EXPECT_EQ(page.value("queue_time_seconds_bucket", {{"le", "0.0002"}}), 0);
  EXPECT_EQ(page.value("queue_time_seconds_bucket", {{"le", "0.0005"}}), 1);  // bounds belong to it
  EXPECT_EQ(page.value("queue_time_seconds_bucket", {{"le", "0.5"}}), 2);
  EXPECT_EQ(page.value("queue_time_seconds_bucket", {{"le", "1000"}}), 2);
  EXPECT_EQ(page.value("queue_time_seconds_bucket", {{"le", "+Inf"}}), 3);
  EXPECT_EQ(page.value("queue_time_seconds_count"), 3);
  EXPECT_EQ(page.value("queue_time_seconds_sum"), 2000.3005);
}

TEST(Metrics, constants_are_read_when_asked_so_that_the_start_may_fill_them_late) {
  ServerConfig config;
  const Metrics metrics(config);
  config.weight_bytes = static_cast<std::size_t>(3 * kGiB);
  config.kv_bytes = static_cast<std::size_t>(1.5 * kGiB);
  config.startup_phases = {{"load_weight", 2.0}, {"e2e", 5.0}};
  const MetricPage page(metrics.page({}));
  EXPECT_EQ(page.value("weight_memory_usage_gb"), 3);
  EXPECT_EQ(page.value("kv_cache_memory_usage_gb"), 1.5);
  EXPECT_EQ(page.value("startup_time_seconds", {{"phase", "load_weight"}}), 2);
  EXPECT_EQ(page.value("startup_time_seconds", {{"phase", "e2e"}}), 5);
}

TEST(Metrics, choices_add_up) {
  const ServerConfig config;
  Metrics metrics(config);
  metrics.observe_first_token(0.3);
  metrics.observe_tokens(4, 0.2);
  metrics.observe_finished({.prompt_tokens = 200,
                            .cached_tokens = 150,
                            .completion_tokens = 50,
                            .e2e_seconds = 0.5,
                            .aborted = false});
  metrics.observe_finished({.completion_tokens = 1, .e2e_seconds = 3, .aborted = true});
  const MetricPage page(metrics.page({}));
  expect_values(page, {{"num_requests_total", 2},
                       {"num_aborted_requests_total", 1},
                       {"prompt_tokens_total", 200},
                       {"cached_tokens_total", 150},
                       {"generation_tokens_total", 51},
                       {"time_to_first_token_seconds_sum", 0.3},
                       {"inter_token_latency_seconds_count", 4}});
  EXPECT_DOUBLE_EQ(page.value("inter_token_latency_seconds_sum"), 0.2);
  EXPECT_EQ(page.value("inter_token_latency_seconds_bucket", {{"le", "0.04"}}), 0);
  EXPECT_EQ(page.value("inter_token_latency_seconds_bucket", {{"le", "0.06"}}), 4);
  EXPECT_EQ(page.value("e2e_request_latency_seconds_sum"), 3.5);
  EXPECT_EQ(page.value("e2e_request_latency_seconds_bucket", {{"le", "0.6"}}), 1);
  EXPECT_EQ(page.value("prompt_tokens_histogram_count"), 1);  // further choices have no prompt
  EXPECT_EQ(page.value("prompt_tokens_histogram_sum"), 200);
  EXPECT_EQ(page.value("generation_tokens_histogram_count"), 2);
}

TEST(Metrics, pages_made_at_once_count_everything_once) {
  const ServerConfig config;
  const Metrics metrics(config);
  std::vector<std::thread> scrapers;
  for (int i = 0; i < 4; ++i)
    scrapers.emplace_back([&] {
      for (int page = 0; page < 50; ++page)
        EXPECT_EQ(MetricPage(metrics.page(busy_engine())).value("spec_verify_calls_total"), 40);
    });
  for (auto& scraper : scrapers) scraper.join();
}

class MetricsOfServer : public ServerTest {
 protected:
  MetricPage page() { return MetricPage(get(port, "/metrics").body); }
  // Waits for a value: an answer reaches the client a moment before its end is counted.
  bool becomes(double value, std::string_view name, const MetricPage::Labels& labels = {}) {
    return eventually([&] { return page().value(name, labels) == value; });
  }
};

TEST_F(MetricsOfServer, several_choices_share_one_prompt) {
  start();
  ASSERT_EQ(post(port, "/generate", R"({"text":"abc","sampling_params":{"n":2}})").status, 200);
  const MetricPage page = this->page();
  EXPECT_EQ(page.value("num_requests_total"), 2);
  EXPECT_EQ(page.value("prompt_tokens_total"), 3);
  EXPECT_EQ(page.value("cached_tokens_total"), 1);
  EXPECT_EQ(page.value("generation_tokens_total"), 28);  // "Hello, world!" and the end token
  EXPECT_EQ(page.value("prompt_tokens_histogram_count"), 1);
  EXPECT_EQ(page.value("generation_tokens_histogram_sum"), 28);
  EXPECT_EQ(page.value("time_to_first_token_seconds_count"), 2);
  EXPECT_EQ(page.value("e2e_request_latency_seconds_count"), 2);
  EXPECT_EQ(page.value("num_aborted_requests_total"), 0);
}

TEST_F(MetricsOfServer, tokens_after_a_stop_string_count_nowhere) {
  engine.tokens_per_step = 20;
  start();
  post(port, "/generate", R"({"text":"abc","sampling_params":{"stop":["lo"]}})");
  EXPECT_EQ(page().value("generation_tokens_total"), 5);
}

TEST_F(MetricsOfServer, a_client_that_leaves_is_counted_with_its_time_and_prompt) {
  answer = std::vector<Token>(100'000, 'a');
  config.context_length = 100'000;
  config.log_requests = true;
  engine.pace = std::chrono::milliseconds(2);
  testing::internal::CaptureStderr();
  start();
  {
    HttpClient client(port);
    const std::string body =
        R"({"text":"abc","stream":true,"sampling_params":{"max_new_tokens":90000}})";
    client.send("POST /generate HTTP/1.1\r\nContent-Length: " + std::to_string(body.size()) +
                "\r\n\r\n" + body);
    client.read_until("aaaaa");  // five steps, so at least 10 ms
    EXPECT_EQ(page().value("http_requests_active", {{"endpoint", "/generate"}}), 1);
  }
  EXPECT_TRUE(becomes(1, "num_aborted_requests_total"));
  EXPECT_TRUE(becomes(0, "http_requests_active", {{"endpoint", "/generate"}}));
  const MetricPage page = this->page();
  EXPECT_EQ(page.value("prompt_tokens_total"), 3);
  EXPECT_GE(page.value("generation_tokens_total"), 5);
  EXPECT_EQ(page.value("e2e_request_latency_seconds_count"), 1);
  EXPECT_GE(page.value("e2e_request_latency_seconds_sum"), 0.01);
  EXPECT_TRUE(eventually([&] { return engine.cancelled() == 1; }));
  stop();
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("finish_reason=disconnect"), std::string::npos) << log;
  EXPECT_EQ(log.find("e2e_latency=0.000"), std::string::npos) << log;
}

TEST_F(MetricsOfServer, refusals_are_counted_by_route_and_status_and_logged) {
  config.api_key = "secret";
  config.log_requests = true;
  config.max_body_bytes = 100;
  testing::internal::CaptureStderr();
  start();
  constexpr const char* kKey = "Authorization: Bearer secret\r\n";
  EXPECT_EQ(post(port, "/generate", "{}", kKey).status, 400);
  EXPECT_EQ(post(port, "/generate", "{}").status, 401);
  EXPECT_EQ(get(port, "/nowhere").status, 404);
  EXPECT_EQ(get(port, "/elsewhere?x=1").status, 404);
  EXPECT_EQ(post(port, "/generate", std::string(101, ' '), kKey).status, 413);
  engine.refusal = Refusal{"The request queue is full.", 503};
  EXPECT_EQ(post(port, "/generate", R"({"text":"a"})", kKey).status, 503);
  const auto responses = [page = page()](const char* endpoint, const char* status) {
    return page.value("http_responses_total", {{"endpoint", endpoint}, {"status_code", status}});
  };
  EXPECT_EQ(responses("/generate", "400"), 1);
  EXPECT_EQ(responses("/generate", "401"), 1);
  EXPECT_EQ(responses("/generate", "413"), 1);
  EXPECT_EQ(responses("/generate", "503"), 1);
  EXPECT_EQ(responses("other", "404"), 2);
  EXPECT_EQ(page().value("http_requests_total", {{"endpoint", "/generate"}}), 4);
  stop();
  const std::string log = testing::internal::GetCapturedStderr();
  for (const char* line :
       {"Refuse: status=400, method=POST, path=/generate",
        "Refuse: status=401, method=POST, path=/generate", "Refuse: status=404, method=GET, path=",
        "Refuse: status=413, method=POST, path=/generate", "The request queue is full."})
    EXPECT_NE(log.find(line), std::string::npos) << line << "\n" << log;
}

TEST_F(MetricsOfServer, what_was_not_understood_is_counted_too) {
  start();
  HttpClient client(port);
  client.send("NOT HTTP\r\n\r\n");
  EXPECT_EQ(client.read_reply().status, 400);
  EXPECT_TRUE(becomes(1, "http_responses_total", {{"status_code", "400"}}));
  EXPECT_TRUE(becomes(0, "http_requests_active", {{"endpoint", "other"}}));
}

TEST_F(MetricsOfServer, invented_paths_and_methods_make_no_new_series) {
  start();
  HttpClient client(port);
  for (const char* method : {"BREW", "WHEN", "GET"})
    client.request(method, "/pot-" + std::string(method));
  const MetricPage page = this->page();
  EXPECT_EQ(page.value("http_requests_total", {{"endpoint", "other"}, {"method", "other"}}), 2);
  EXPECT_EQ(page.value("http_requests_total", {{"endpoint", "other"}, {"method", "GET"}}), 1);
}

TEST_F(MetricsOfServer, a_page_counts_the_request_that_asks_for_it) {
  start();
  EXPECT_EQ(page().value("http_requests_active", {{"endpoint", "/metrics"}}), 1);
  EXPECT_EQ(page().value("http_requests_total", {{"endpoint", "/metrics"}}), 2);
}

TEST_F(MetricsOfServer, processor_time_is_told_by_component) {
  start();
  EXPECT_TRUE(eventually(
      [&] { return page().value("process_cpu_seconds_total", {{"component", "tokenizer"}}) > 0; }));
  EXPECT_TRUE(page().has("process_cpu_seconds_total", {{"component", "scheduler"}}));
}

TEST_F(MetricsOfServer, an_id_or_path_with_a_line_break_forges_no_line_of_the_log) {
  config.log_requests = true;
  testing::internal::CaptureStderr();
  start();
  post(port, "/generate", R"({"text":"a","rid":"x\nFinish: rid=forged"})");
  get(port, "/no%0aFinish:%20rid=forged");
  stop();
  std::istringstream log(testing::internal::GetCapturedStderr());
  int refusals = 0;
  for (std::string line; std::getline(log, line);) {
    EXPECT_EQ(line.find("Finish: rid=x"), std::string::npos) << "no such id is served: " << line;
    EXPECT_FALSE(line.starts_with("Finish")) << line;
    refusals += line.find("] Refuse: ") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(refusals, 2);
}

}  // namespace
}  // namespace foretoken
