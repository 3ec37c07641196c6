#include "app/options/resolve_options.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "app/testing/resolve.h"
#include "base/testing/test_folder.h"

namespace foretoken {
namespace {

TEST(Options, without_flags_the_defaults_of_the_configurations_stand) {
  const auto options = resolve({});
  const EngineConfig engine;
  EXPECT_EQ(options.engine.max_running_requests, engine.max_running_requests);
  EXPECT_EQ(options.engine.max_queued_requests, engine.max_queued_requests);
  EXPECT_EQ(options.engine.chunked_prefill_size, engine.chunked_prefill_size);
  EXPECT_EQ(options.engine.max_prefill_tokens, engine.max_prefill_tokens);
  EXPECT_EQ(options.engine.decode_log_interval, engine.decode_log_interval);
  EXPECT_TRUE(options.engine.radix_cache);
  const ServerConfig server;
  EXPECT_EQ(options.server.host, server.host);
  EXPECT_EQ(options.server.port, server.port);
  EXPECT_EQ(options.server.served_model_name, model_folder());
  EXPECT_EQ(options.server.log_requests_level, server.log_requests_level);
  EXPECT_EQ(options.backend.device, "cpu");
  EXPECT_EQ(options.threads, 0);
  EXPECT_FALSE(options.memory.fraction);
  EXPECT_FALSE(options.load.context_length);
  EXPECT_TRUE(options.notes.empty());
}

TEST(Options, products_are_tuned_as_asked_and_kept_in_the_cache_of_the_user) {
  using Mode = AutotuneOptions::Mode;
  Environment environment;
  environment.cache = "/home/u/.cache/foretoken";
  EXPECT_EQ(resolve({}, environment).autotune.mode, Mode::kOff);
  EXPECT_EQ(resolve({}, environment).autotune.folder, "/home/u/.cache/foretoken");
  EXPECT_EQ(resolve({"--autotune", "cached"}).autotune.mode, Mode::kCached);
  EXPECT_EQ(resolve({"--autotune", "off", "--enable-torch-compile"}).autotune.mode, Mode::kOff);
  EXPECT_EQ(resolve({"--autotune", "load", "--enable-torch-compile"}).autotune.mode, Mode::kLoad);
}

TEST(Options, the_model_and_its_revision_are_found_in_the_hub_cache) {
  const TestFolder cache;
  cache.write("models--o--n/refs/v2", "abc");
  cache.write("models--o--n/snapshots/abc/config.json", "{}");
  cache.write("models--o--n/snapshots/abc/model.safetensors", "x");
  Environment environment;
  environment.hub.cache = cache.path();
  const std::vector<std::string> args = {"--model", "o/n", "--revision", "v2"};
  const auto options = resolve_options(parse_flags(args, serve_flags()), environment);
  EXPECT_EQ(options.load.model_folder, cache.path() + "/models--o--n/snapshots/abc");
  EXPECT_EQ(options.load.tokenizer_path, options.load.model_folder);
  EXPECT_EQ(options.server.model_path, "o/n");
  EXPECT_EQ(options.server.served_model_name, "o/n");
}

TEST(Options, the_hub_is_that_of_the_environment_unless_flags_say_else) {
  Environment environment;
  environment.hub.cache = "/cache";
  const auto settings = [&](std::vector<std::string> args) {
    return hub_settings(parse_flags(args, serve_flags()), environment);
  };
  EXPECT_EQ(settings({}).cache, "/cache");
  EXPECT_FALSE(settings({}).offline);
  EXPECT_EQ(settings({"--download-dir", "/mine"}).cache, "/mine");
  EXPECT_TRUE(settings({"--offline"}).offline);
  environment.hub.offline = true;
  EXPECT_TRUE(settings({}).offline);
}

TEST(Options, who_runs_no_model_needs_none) {
  const auto options = resolve_options(parse_flags({}, serve_flags()), {}, DefaultModel::kNone);
  EXPECT_EQ(options.load.model_folder, "");
  const std::vector<std::string> args = {"--model", "/usr"};
  const auto named = resolve_options(parse_flags(args, serve_flags()), {}, DefaultModel::kNone);
  EXPECT_EQ(named.load.model_folder, "/usr");
}

// "no error" up to both ends of the range of a flag, and its name beyond.
void expect_range(const std::string& flag, std::int64_t least, std::int64_t most) {
  for (const std::int64_t value : {least, most})
    EXPECT_EQ(usage_error({flag, std::to_string(value)}), "no error") << flag << ' ' << value;
  for (const std::int64_t value : {least - 1, most + 1})
    EXPECT_TRUE(usage_error({flag, std::to_string(value)}).starts_with(flag + ": expected "))
        << flag << ' ' << value;
}

TEST(Options, numbers_are_taken_up_to_both_ends_of_their_range) {
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  expect_range("--torch-compile-max-bs", 1, 1 << 16);
  expect_range("--max-running-requests", 1, 1 << 16);
  expect_range("--max-queued-requests", 1, kMost);
  expect_range("--max-mamba-cache-size", 1, 1 << 20);
  expect_range("--chunked-prefill-size", -1, kMost);
  expect_range("--max-prefill-tokens", 1, kMost);
  expect_range("--decode-log-interval", 1, kMost);
  expect_range("--max-body-mb", 1, 1 << 18);
  expect_range("--max-connections", 1, 1 << 20);
  expect_range("--io-threads", 1, 256);
  expect_range("--port", 0, 65535);
  expect_range("--stream-interval", 1, kMost);
  expect_range("--log-requests-level", 0, 3);
  expect_range("--context-length", 1, kMost);
  expect_range("--max-total-tokens", 1, kMost);
  expect_range("--threads", 1, 4096);
  expect_range("--drain-timeout", 0, 7 * 24 * 3600);
  expect_range("--request-timeout", 0, 7 * 24 * 3600);
}

TEST(Options, a_fraction_of_memory_lies_between_none_and_all) {
  for (const char* value : {"0.001", "0.999"})
    EXPECT_EQ(usage_error({"--mem-fraction-static", value}), "no error") << value;
  for (const char* value : {"0", "1", "-0.5"})
    EXPECT_NE(usage_error({"--mem-fraction-static", value}), "no error") << value;
}

TEST(Options, either_backend_of_grammars_is_said_to_be_llguidance) {
  for (const std::string name : {"xgrammar", "outlines"})
    EXPECT_EQ(resolve({"--grammar-backend", name}).notes,
              std::vector{"--grammar-backend " + name + ": grammars are compiled by llguidance"});
  EXPECT_TRUE(resolve({"--grammar-backend", "llguidance"}).notes.empty());
}

TEST(Options, values_out_of_range_are_refused) {
  EXPECT_EQ(usage_error({"--port", "65536"}), "--port: expected 0 to 65535, found 65536");
  EXPECT_EQ(usage_error({"--max-running-requests", "0"}),
            "--max-running-requests: expected 1 to 65536, found 0");
  EXPECT_EQ(usage_error({"--chunked-prefill-size", "0"}),
            "--chunked-prefill-size: expected -1 or at least 1, found 0");
  EXPECT_EQ(usage_error({"--context-length", "-5"}),
            "--context-length: expected at least 1, found -5");
  EXPECT_EQ(usage_error({"--mem-fraction-static", "1.5"}),
            "--mem-fraction-static: expected a number between 0 and 1, found 1.5");
  EXPECT_EQ(usage_error({"--mem-fraction-static", "0"}),
            "--mem-fraction-static: expected a number between 0 and 1, found 0");
  EXPECT_EQ(usage_error({"--body-budget-mb", "127"}),
            "--body-budget-mb: expected 128 to 1048576, found 127");
  EXPECT_EQ(usage_error({"--drain-timeout", "-1"}),
            "--drain-timeout: expected 0 to 604800 seconds, found -1");
  EXPECT_EQ(usage_error({"--receive-timeout", "1e300"}),
            "--receive-timeout: expected 0.1 to 604800 seconds, found 1e300");
  EXPECT_EQ(usage_error({"--host", ""}), "--host: expected an address, found ''");
  EXPECT_EQ(usage_error({"--served-model-name", "a:b"}),
            "--served-model-name: expected a name without ':', found 'a:b'");
  EXPECT_EQ(usage_error({"--max-total-tokens", "4294967296"}),
            "--max-total-tokens: expected at least 1, found 4294967296");
}

TEST(Options, json_flags_must_hold_objects) {
  EXPECT_EQ(usage_error({"--json-model-override-args", "[1]"}),
            "--json-model-override-args: expected a JSON object, found '[1]'");
  EXPECT_TRUE(
      usage_error({"--preferred-sampling-params", "{x"})
          .starts_with("--preferred-sampling-params: expected a JSON object, found '{x' ("));
}

TEST(Options, origins_are_what_a_browser_calls_one) {
  for (const char* origin : {"https://a.example", "http://[::1]:8080", "null", "*",
                             "chrome-extension://abcdefghijklmnop"})
    EXPECT_EQ(resolve({"--allow-origin", origin}).server.allowed_origins,
              std::vector<std::string>{origin});
  for (const char* other : {"a.example", "https://a.example/", "https://a.example/x", "https://",
                            "://a", "https://a b", "https://*.example", "https://a\r\nx: y", ""})
    EXPECT_EQ(usage_error({"--allow-origin", other}),
              std::string("--allow-origin: expected an origin such as https://chat.example:8443, "
                          "or *, found '") +
                  other + "'");
  EXPECT_TRUE(resolve({}).server.allowed_origins.empty());
}

TEST(Options, a_seed_is_drawn_when_none_is_given) {
  EXPECT_NE(resolve({}).server.random_seed, resolve({}).server.random_seed);
}

TEST(Options, the_environment_limits_how_long_requests_wait_and_run) {
  EXPECT_EQ(resolve({}).engine.ring_depth, 1);
  Environment overlapping;
  overlapping.overlaps_steps = true;
  EXPECT_EQ(resolve({}, overlapping).engine.ring_depth, 2);
  EXPECT_EQ(resolve({"--disable-overlap-schedule"}, overlapping).engine.ring_depth, 1);
  EXPECT_EQ(resolve({"--overlap-schedule", "off"}, overlapping).engine.ring_depth, 1);
  EXPECT_THROW(resolve({"--overlap-schedule", "on", "--disable-overlap-schedule"}), UsageError);
  EXPECT_EQ(resolve({}).engine.waiting_timeout_seconds, 0);
  EXPECT_EQ(resolve({}).engine.running_timeout_seconds, 0);
  EXPECT_EQ(resolve({}).engine.output_estimate_clip, 4096);
  Environment environment;
  environment.req_waiting_timeout = "0.5";
  environment.req_running_timeout = "-1";
  environment.clip_max_new_tokens = "100";
  const EngineConfig engine = resolve({}, environment).engine;
  EXPECT_EQ(engine.waiting_timeout_seconds, 0.5);
  EXPECT_EQ(engine.running_timeout_seconds, 0);
  EXPECT_EQ(engine.output_estimate_clip, 100);
  environment.req_waiting_timeout = "1e300";  // as good as none, and nothing overflows
  EXPECT_EQ(resolve({}, environment).engine.waiting_timeout_seconds, 0);
  environment.req_waiting_timeout = "soon";
  EXPECT_THROW(resolve({}, environment), UsageError);
}

TEST(Options, priorities_need_the_policy_that_keeps_their_order) {
  EXPECT_THROW(resolve({"--enable-priority-scheduling", "--schedule-policy", "lpm"}), UsageError);
}

TEST(Options, the_random_policy_draws_from_the_seed) {
  const auto options = resolve({"--schedule-policy", "random", "--random-seed", "7"});
  EXPECT_EQ(options.engine.policy, SchedulePolicy::kRandom);
  EXPECT_EQ(options.engine.policy_seed, 7U);
}

TEST(Options, the_environment_sets_test_hooks_and_notes) {
  Environment environment;
  environment.force_preempt_every = 3;
  environment.check_integrity = true;
  environment.allow_longer_context = true;
  environment.notes = {"a note"};
  const auto options = resolve({"--cuda-graph-max-bs", "8"}, environment);
  EXPECT_EQ(options.engine.force_preempt_every, 3);
  EXPECT_TRUE(options.engine.check_integrity);
  EXPECT_TRUE(options.load.allow_longer_context);
  ASSERT_EQ(options.notes.size(), 2U);
  EXPECT_EQ(options.notes[1], "a note");
}

TEST(Options, a_checkpoint_that_is_not_there_is_named_with_its_flag) {
  const auto fault = [](const std::vector<std::string>& args) -> std::string {
    try {
      resolve(args);
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  };
  const std::string flag = "--speculative-draft-model-path";
  for (const char* path : {"/nope", "nobody/nothing"})
    EXPECT_NE(fault({"--speculative-algorithm", "EAGLE", flag, path}).find("(" + flag + ")"),
              std::string::npos);
  EXPECT_NE(fault({"--tokenizer-path", "nobody/nothing"}).find("(--tokenizer-path)"),
            std::string::npos);
}

}  // namespace
}  // namespace foretoken
