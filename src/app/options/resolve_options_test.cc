#include "app/options/resolve_options.h"

#include <functional>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "app/options/server_args.h"
#include "base/testing/test_folder.h"

namespace foretoken {
namespace {

Options resolve(std::vector<std::string> args, const Environment& environment = {}) {
  args.insert(args.end(), {"--model", "/tmp"});
  return resolve_options(parse_flags(args, serve_flags()), environment);
}

std::string usage_error(const std::vector<std::string>& args) {
  try {
    resolve(args);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

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
  EXPECT_EQ(options.server.served_model_name, "/tmp");
  EXPECT_EQ(options.server.log_requests_level, server.log_requests_level);
  EXPECT_EQ(options.backend.device, "cpu");
  EXPECT_EQ(options.threads, 0);
  EXPECT_FALSE(options.memory.fraction);
  EXPECT_FALSE(options.load.context_length);
  EXPECT_TRUE(options.notes.empty());
}

// Every supported flag changes exactly what it says: the flag, and whether the options show it.
struct Effect {
  std::vector<std::string> args;
  std::function<bool(const Options&)> shows;
};

TEST(Options, every_supported_flag_reaches_its_configuration) {
  const std::vector<Effect> effects = {
      {{"--tokenizer-path", "/usr"}, [](auto& o) { return o.load.tokenizer_path == "/usr"; }},
      {{"--reasoning-parser", "qwen3"},
       [](auto& o) { return o.server.reasoning_parser == "qwen3"; }},
      {{"--tool-call-parser", "hermes"},
       [](auto& o) { return o.server.tool_call_parser == "hermes"; }},
      {{"--max-connections", "7"}, [](auto& o) { return o.server.max_connections == 7; }},
      {{"--io-threads", "3"}, [](auto& o) { return o.server.io_threads == 3; }},
      {{"--max-body-mb", "100"},
       [](auto& o) {
         return o.server.max_body_bytes == 100U << 20 && o.server.body_budget_bytes == 400U << 20;
       }},
      {{"--body-budget-mb", "128"},
       [](auto& o) { return o.server.body_budget_bytes == 128U << 20; }},
      {{"--receive-timeout", "7"}, [](auto& o) { return o.server.receive_timeout_seconds == 7; }},
      {{"--request-timeout", "1.5"},
       [](auto& o) { return o.server.request_timeout_seconds == 1.5; }},
      {{"--drain-timeout", "0"}, [](auto& o) { return o.server.drain_seconds == 0; }},
      {{"--skip-tokenizer-init"}, [](auto& o) { return o.server.skip_tokenizer_init; }},
      {{"--chat-template", "{{ x }}"}, [](auto& o) { return o.load.chat_template == "{{ x }}"; }},
      {{"--load-format", "dummy"}, [](auto& o) { return o.load.load_format == "dummy"; }},
      {{"--packed-cache", "/packed"}, [](auto& o) { return o.load.packed_cache == "/packed"; }},
      {{"--packed-cache", "/packed", "--speculative-algo", "STANDALONE",
        "--speculative-draft-model-path", "/"},
       [](auto& o) {
         return o.draft.load.packed_cache == "/packed" && o.draft.load.part == "draft";
       }},
      {{"--dtype", "half"}, [](auto& o) { return o.load.dtype == "half"; }},
      {{"--quantization", "int4-g64"},
       [](auto& o) {
         return o.load.quantization.layers.bits == 4 && o.load.quantization.layers.group == 64;
       }},
      {{"--quantization-scale-search", "--quantization", "w4a8"},
       [](auto& o) { return o.load.quantization.layers.searches_scale; }},
      {{"--quantization", "int4", "--quantization-head", "w4a8"},
       [](auto& o) {
         const Quantization& q = o.load.quantization;
         return q.layers.bits == 4 && !q.layers.rounds_input && q.head.bits == 4 &&
                q.head.rounds_input && q.text() == "int4, output matrix w4a8";
       }},
      {{"--quantization", "gptq", "--quantization-head", "w8a16"},
       [](auto& o) {
         return o.load.quantization.head.bits == 8 && !o.load.quantization.layers.is_coded();
       }},
      {{"--quantization", "gptq_marlin"},
       [](auto& o) { return o.load.quantization.stored_method == "gptq"; }},
      {{"--quantization", "int4", "--quantization-head", "unquant"},
       [](auto& o) {
         return o.load.quantization.layers.is_coded() && !o.load.quantization.head.is_coded();
       }},
      {{"--quantization-head", "w8a16", "--speculative-algorithm", "EAGLE",
        "--speculative-draft-model-quantization", "unquant"},
       [](auto& o) { return o.load.quantization.is_on() && !o.draft.load.quantization.is_on(); }},
      {{"--quantization", "int4", "--speculative-algorithm", "EAGLE"},
       [](auto& o) { return o.draft.load.quantization.name == "int4"; }},
      {{"--speculative-draft-model-quantization", "unquant", "--speculative-algorithm", "EAGLE",
        "--quantization", "int4"},
       [](auto& o) { return o.load.quantization.is_on() && !o.draft.load.quantization.is_on(); }},
      {{"--quantization", "awq", "--speculative-algorithm", "STANDALONE"},
       [](auto& o) {
         return o.load.quantization.stored_method == "awq" &&
                o.draft.load.quantization == Quantization{};
       }},
      {{"--speculative-draft-model-quantization", "w8a8_int8", "--speculative-algorithm", "EAGLE"},
       [](auto& o) {
         return !o.load.quantization.is_on() && o.draft.load.quantization.name == "w8a8_int8";
       }},
      {{"--kv-cache-dtype", "bf16"}, [](auto& o) { return o.load.kv_dtype == DType::kBF16; }},
      {{"--kv-cache-dtype", "bfloat16"}, [](auto& o) { return o.load.kv_dtype == DType::kBF16; }},
      {{"--kv-cache-dtype", "fp8_e5m2"}, [](auto& o) { return o.load.kv_dtype == DType::kF8E5M2; }},
      {{"--kv-cache-dtype", "fp8_e4m3"}, [](auto& o) { return o.load.kv_dtype == DType::kF8E4M3; }},
      {{"--kv-cache-dtype", "int8"}, [](auto& o) { return o.load.kv_dtype == DType::kI8; }},
      {{"--kv-cache-dtype", "int8", "--speculative-algorithm", "EAGLE"},
       [](auto& o) { return o.draft.load.kv_dtype == DType::kI8; }},
      {{"--kv-cache-dtype", "int8", "--speculative-algorithm", "EAGLE",
        "--speculative-draft-kv-cache-dtype", "auto"},
       [](auto& o) { return o.load.kv_dtype == DType::kI8 && !o.draft.load.kv_dtype; }},
      {{"--speculative-draft-kv-cache-dtype", "fp8_e4m3", "--speculative-algorithm", "EAGLE"},
       [](auto& o) { return !o.load.kv_dtype && o.draft.load.kv_dtype == DType::kF8E4M3; }},
      {{"--context-length", "99"}, [](auto& o) { return o.load.context_length == 99; }},
      {{"--json-model-override-args", "{\"a\":1}"},
       [](auto& o) { return o.load.config_overrides == "{\"a\":1}"; }},
      {{"--device", "reference"}, [](auto& o) { return o.backend.device == "reference"; }},
      {{"--threads", "3"}, [](auto& o) { return o.threads == 3; }},
      {{"--cpu-isa", "avx2"}, [](auto& o) { return o.backend.cpu_isa == "avx2"; }},
      {{"--gemm-order", "pair"}, [](auto& o) { return o.backend.gemm_order == "pair"; }},
      {{"--mem-fraction-static", "0.5"}, [](auto& o) { return o.memory.fraction == 0.5; }},
      {{"--max-total-tokens", "640"}, [](auto& o) { return o.memory.max_total_tokens == 640; }},
      {{"--overlap-schedule", "on"}, [](auto& o) { return o.engine.ring_depth == 2; }},
      {{"--disable-radix-cache"}, [](auto& o) { return !o.engine.radix_cache; }},
      {{"--max-running-requests", "5"}, [](auto& o) { return o.engine.max_running_requests == 5; }},
      {{"--max-queued-requests", "6"}, [](auto& o) { return o.engine.max_queued_requests == 6; }},
      {{"--chunked-prefill-size", "-1"},
       [](auto& o) { return o.engine.chunked_prefill_size == -1; }},
      {{"--max-prefill-tokens", "77"}, [](auto& o) { return o.engine.max_prefill_tokens == 77; }},
      {{"--schedule-policy", "lpm"},
       [](auto& o) { return o.engine.policy == SchedulePolicy::kLpm; }},
      {{"--allow-auto-truncate"}, [](auto& o) { return o.server.allow_auto_truncate; }},
      {{"--random-seed", "42"},
       [](auto& o) { return o.server.random_seed == 42 && o.load.seed == 42; }},
      {{"--host", "0.0.0.0"}, [](auto& o) { return o.server.host == "0.0.0.0"; }},
      {{"--port", "0"}, [](auto& o) { return o.server.port == 0; }},
      {{"--api-key", "k"}, [](auto& o) { return o.server.api_key == "k"; }},
      {{"--admin-api-key", "a"}, [](auto& o) { return o.server.admin_api_key == "a"; }},
      {{"--served-model-name", "n"}, [](auto& o) { return o.server.served_model_name == "n"; }},
      {{"--sampling-defaults", "openai"}, [](auto& o) { return !o.sampling_defaults_of_model; }},
      {{"--preferred-sampling-params", "{}"},
       [](auto& o) { return o.server.preferred_sampling_params == "{}"; }},
      {{"--tools-without-template", "refuse"}, [](auto& o) { return !o.server.prompts_tools; }},
      {{"--stream-interval", "4"}, [](auto& o) { return o.server.stream_interval == 4; }},
      {{"--incremental-streaming-output"},
       [](auto& o) { return o.server.incremental_streaming_output; }},
      {{"--stream-response-default-include-usage"},
       [](auto& o) { return o.server.stream_include_usage; }},
      {{"--enable-cache-report"}, [](auto& o) { return o.server.enable_cache_report; }},
      {{"--grammar-backend", "none"}, [](auto& o) { return !o.server.serves_grammars; }},
      {{"--bind-tool-arguments", "strict"}, [](auto& o) { return !o.server.binds_arguments; }},
      {{"--grammar-backend", "xgrammar"},
       [](auto& o) { return o.server.serves_grammars && !o.notes.empty(); }},
      {{"--constrained-json-whitespace-pattern", " ?"},
       [](auto& o) { return o.server.json_layout.whitespace_pattern == " ?"; }},
      {{"--constrained-json-disable-any-whitespace"},
       [](auto& o) { return o.server.json_layout.is_compact; }},
      {{"--skip-server-warmup"}, [](auto& o) { return o.skip_warmup; }},
      {{"--weight-version", "v2"}, [](auto& o) { return o.server.weight_version == "v2"; }},
      {{"--log-level", "warning"}, [](auto& o) { return o.log_level == LogLevel::kWarning; }},
      {{"--log-requests"}, [](auto& o) { return o.server.log_requests; }},
      {{"--log-requests-level", "3"}, [](auto& o) { return o.server.log_requests_level == 3; }},
      {{"--decode-log-interval", "9"}, [](auto& o) { return o.engine.decode_log_interval == 9; }},
      {{"--enable-metrics"}, [](auto& o) { return o.server.enable_metrics; }},
      {{"--speculative-algorithm", "standalone"},
       [](auto& o) { return o.draft.algorithm == "STANDALONE"; }},
      {{"--speculative-draft", "/usr", "--speculative-algo", "STANDALONE"},
       [](auto& o) { return o.draft.folder == "/usr"; }},
      {{"--speculative-draft-load-format", "dummy", "--speculative-algo", "STANDALONE"},
       [](auto& o) { return o.draft.load.load_format == "dummy"; }},
      {{"--speculative-num-steps", "3"}, [](auto& o) { return o.draft.steps == 3; }},
      {{"--speculative-eagle-topk", "4"}, [](auto& o) { return o.draft.topk == 4; }},
      {{"--speculative-num-draft-tokens", "5"}, [](auto& o) { return o.draft.nodes == 5; }},
      {{"--draft-budget", "full"}, [](auto& o) { return o.draft.budget == TreeBudget::kFull; }},
      {{"--draft-coupling", "always"},
       [](auto& o) { return o.draft.coupling == Coupling::kAlways; }},
      {{"--speculative-draft-window-size", "512"}, [](auto& o) { return o.draft.window == 512; }},
      {{"--speculative-token-map", "/etc/hostname", "--speculative-algo", "EAGLE"},
       [](auto& o) { return o.draft.token_map == "/etc/hostname"; }},
      {{"--speculative-ngram-min-match-window-size", "2"},
       [](auto& o) { return o.draft.own.template get<NgramOptions>().shape.min_window == 2; }},
      {{"--speculative-ngram-max-match-window-size", "9"},
       [](auto& o) { return o.draft.own.template get<NgramOptions>().shape.max_window == 9; }},
      {{"--speculative-ngram-min-bfs-breadth", "3"},
       [](auto& o) { return o.draft.own.template get<NgramOptions>().shape.min_breadth == 3; }},
      {{"--speculative-ngram-max-bfs-breadth", "4"},
       [](auto& o) { return o.draft.own.template get<NgramOptions>().shape.max_breadth == 4; }},
      {{"--speculative-ngram-match-type", "PROB"},
       [](auto& o) {
         return o.draft.own.template get<NgramOptions>().shape.order ==
                NgramShape::Order::kMostFrequent;
       }},
      {{"--speculative-ngram-branch-length", "20"},
       [](auto& o) { return o.draft.own.template get<NgramOptions>().max_depth == 20; }},
      {{"--speculative-ngram-capacity", "5000"},
       [](auto& o) { return o.draft.own.template get<NgramOptions>().capacity == 5000; }},
      {{"--speculative-ngram-isolation", "request"},
       [](auto& o) {
         return o.draft.own.template get<NgramOptions>().isolation == DraftIsolation::kRequest;
       }},
      {{"--speculative-ngram-external-sam-budget", "3"},
       [](auto& o) { return o.draft.own.template get<NgramOptions>().corpus_drafts == 3; }},
      {{"--speculative-ngram-external-corpus-path", "texts.jsonl",
        "--speculative-ngram-external-sam-budget", "3"},
       [](auto& o) {
         return o.draft.own.template get<NgramOptions>().corpus_path == "texts.jsonl";
       }},
      {{"--speculative-ngram-external-corpus-max-tokens", "77"},
       [](auto& o) { return o.draft.own.template get<NgramOptions>().corpus_tokens == 77; }},
      {{"--speculative-suffix-max-tree-depth", "12"},
       [](auto& o) { return o.draft.own.template get<SuffixOptions>().max_depth == 12; }},
      {{"--speculative-suffix-max-cached-requests", "0"},
       [](auto& o) { return o.draft.own.template get<SuffixOptions>().max_answers == 0; }},
      {{"--speculative-suffix-max-spec-factor", "1.5"},
       [](auto& o) { return o.draft.own.template get<SuffixOptions>().shape.factor == 1.5F; }},
      {{"--speculative-suffix-min-token-prob", "0.25"},
       [](auto& o) {
         return o.draft.own.template get<SuffixOptions>().shape.least_probability == 0.25F;
       }},
      {{"--speculative-suffix-capacity", "5000"},
       [](auto& o) { return o.draft.own.template get<SuffixOptions>().capacity == 5000; }},
      {{"--speculative-suffix-isolation", "shared"},
       [](auto& o) {
         return o.draft.own.template get<SuffixOptions>().isolation == DraftIsolation::kShared;
       }},
      {{"--disable-predictions"},
       [](auto& o) { return !o.draft.serves_predictions && !o.server.serves_predictions; }},
      {{"--simulate-acc-len", "3.5"}, [](auto& o) { return o.simulation.length == 3.5; }},
      {{"--simulate-acc-method", "multinomial"},
       [](auto& o) { return o.simulation.method == AcceptanceSimulation::Method::kMultinomial; }},
      {{"--autotune", "load"},
       [](auto& o) { return o.autotune.mode == AutotuneOptions::Mode::kLoad; }},
      {{"--enable-torch-compile"},
       [](auto& o) { return o.autotune.mode == AutotuneOptions::Mode::kCached; }},
      {{"--torch-compile-max-bs", "8"}, [](auto& o) { return o.autotune.max_rows == 8; }},
      {{"--autotune-folder", "/plans"}, [](auto& o) { return o.autotune.folder == "/plans"; }},
  };
  const auto plain = resolve({});
  std::size_t supported = 0;
  for (const auto& group : serve_flags())
    for (const auto& flag : group.flags) supported += flag.support == Support::kYes ? 1 : 0;
  // --model-path, --revision and --disable-overlap-schedule have their own tests; the draft model's
  // revision acts as the target's.
  std::set<std::string> tested;
  for (const auto& effect : effects) tested.insert(effect.args.front());
  EXPECT_EQ(tested.size() + 4, supported) << "a supported flag has no row in this test";
  for (const auto& effect : effects) {
    EXPECT_FALSE(effect.shows(plain)) << effect.args.front();
    EXPECT_TRUE(effect.shows(resolve(effect.args))) << effect.args.front();
  }
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
  Environment environment;
  environment.hub_cache = cache.path();
  const std::vector<std::string> args = {"--model", "o/n", "--revision", "v2"};
  const auto options = resolve_options(parse_flags(args, serve_flags()), environment);
  EXPECT_EQ(options.load.model_folder, cache.path() + "/models--o--n/snapshots/abc");
  EXPECT_EQ(options.load.tokenizer_path, options.load.model_folder);
  EXPECT_EQ(options.server.model_path, "o/n");
  EXPECT_EQ(options.server.served_model_name, "o/n");
}

TEST(Options, who_runs_no_model_needs_none) {
  const auto options = resolve_options(parse_flags({}, serve_flags()), {}, DefaultModel::kNone);
  EXPECT_EQ(options.load.model_folder, "");
  const std::vector<std::string> args = {"--model", "/tmp"};
  const auto named = resolve_options(parse_flags(args, serve_flags()), {}, DefaultModel::kNone);
  EXPECT_EQ(named.load.model_folder, "/tmp");
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

TEST(ServerArgs, hold_every_flag_by_its_sglang_name_with_the_resolved_value) {
  const auto args = resolve({"--api-key", "secret", "--random-seed", "7", "--cuda-graph-bs", "1",
                             "2", "--enable-metrics"})
                        .server.server_args;
  const auto value = [&](const std::string& name) -> std::string {
    for (const auto& [key, json] : args)
      if (key == name) return json;
    return "missing";
  };
  EXPECT_EQ(value("model_path"), "\"/tmp\"");
  EXPECT_EQ(value("tokenizer_path"), "\"/tmp\"");
  EXPECT_EQ(value("random_seed"), "7");
  EXPECT_EQ(value("tp_size"), "1");
  EXPECT_EQ(value("speculative_algorithm"), "null");
  EXPECT_EQ(value("enable_metrics"), "true");
  EXPECT_EQ(value("disable_radix_cache"), "false");
  EXPECT_EQ(value("cuda_graph_max_bs"), "null");
  EXPECT_EQ(value("cuda_graph_bs"), "[1,2]");
  EXPECT_EQ(value("schedule_conservativeness"), "1");
  EXPECT_EQ(value("page_size"), "16");
  EXPECT_EQ(value("api_key"), "\"***\"");
  EXPECT_EQ(value("admin_api_key"), "null");
}

TEST(ServerArgs, are_described_as_python_would) {
  ServerArgs args = {
      {"model_path", "\"m\""}, {"enable_metrics", "true"}, {"context_length", "null"}};
  set_server_arg(args, "context_length", "64");
  set_server_arg(args, "max_total_num_tokens", "32");
  EXPECT_EQ(describe_server_args(args),
            "ServerArgs(model_path='m', enable_metrics=True, context_length=64, "
            "max_total_num_tokens=32)");
}

TEST(Options, drafts_lower_the_default_of_running_requests) {
  const auto options = resolve({"--speculative-algorithm", "STANDALONE"});
  EXPECT_EQ(options.engine.max_running_requests, 48);
  ASSERT_EQ(options.warnings.size(), 1U);
  EXPECT_EQ(options.warnings[0],
            "Max running requests is reset to 48 for speculative decoding. You can override this "
            "by explicitly setting --max-running-requests.");
  EXPECT_TRUE(resolve({"--speculative-algorithm", "STANDALONE", "--max-running-requests", "7"})
                  .warnings.empty());
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

TEST(Options, drafts_are_refused_by_name) {
  EXPECT_EQ(usage_error({"--speculative-algorithm", "MAGIC"}),
            "Unknown speculative algorithm name: MAGIC");
  EXPECT_NE(usage_error({"--speculative-algorithm", "dspark"}).find("not supported yet"),
            std::string::npos);
  EXPECT_NE(usage_error({"--speculative-draft", "/usr"}).find("--speculative-algorithm"),
            std::string::npos);
  EXPECT_NE(usage_error({"--speculative-num-steps", "0"}).find("at least 1"), std::string::npos);
  EXPECT_EQ(usage_error({"--speculative-draft-window-size", "-4"}),
            "--speculative-draft-window-size must be positive, got -4.");
}

TEST(Options, ngram_flags_are_checked_as_sglang_does) {
  const auto fault = [](const std::string& flag, const std::string& value) {
    return usage_error({"--speculative-algorithm", "ngram", "--speculative-ngram-" + flag, value});
  };
  EXPECT_NE(fault("max-trie-depth", "1").find("2 to 256"), std::string::npos);
  EXPECT_NE(fault("min-bfs-breadth", "0").find("1 to"), std::string::npos);
  EXPECT_NE(fault("min-bfs-breadth", "11").find("at most --speculative-ngram-max-bfs-breadth (10)"),
            std::string::npos);
  EXPECT_NE(fault("min-match-window-size", "13").find("max-match-window-size (12)"),
            std::string::npos);
  EXPECT_NE(fault("match-type", "LUCK").find("BFS"), std::string::npos);
  EXPECT_NE(fault("capacity", "9").find("22 to"), std::string::npos);
  EXPECT_NE(fault("external-corpus-path", "texts.jsonl").find("external-sam-budget: expected 1 to"),
            std::string::npos);
  EXPECT_NE(fault("external-sam-budget", "-1").find("0 to"), std::string::npos);
  EXPECT_NE(fault("external-corpus-max-tokens", "0").find("1 to"), std::string::npos);
}

TEST(Options, the_documented_ngram_command_is_understood) {
  const auto options = resolve(
      {"--speculative-algorithm", "NGRAM", "--speculative-num-draft-tokens", "16",
       "--speculative-ngram-max-match-window-size", "12", "--speculative-ngram-max-bfs-breadth",
       "10", "--cuda-graph-max-bs", "8", "--mem-fraction-static", "0.8", "--log-level", "warning"});
  EXPECT_EQ(options.draft.algorithm, "NGRAM");
  EXPECT_EQ(options.draft.nodes, 16);
  EXPECT_TRUE(options.warnings.empty()) << options.warnings.front();
}

TEST(Options, forced_greedy_verification_belongs_to_ngram) {
  Environment environment;
  environment.greedy_variables = {"SGLANG_NGRAM_FORCE_GREEDY_VERIFY"};
  const auto with = resolve({"--speculative-algorithm", "ngram"}, environment);
  EXPECT_TRUE(with.engine.greedy);
  EXPECT_TRUE(with.notes.empty()) << with.notes.front();
  EXPECT_TRUE(resolve({"--speculative-algorithm", "NEXTN+NGRAM"}, environment).engine.greedy);
  EXPECT_FALSE(resolve({"--speculative-algorithm", "NGRAM"}).engine.greedy);
  for (const auto& args : std::vector<std::vector<std::string>>{
           {}, {"--speculative-algorithm", "SUFFIX"}, {"--speculative-algorithm", "NEXTN"}}) {
    const auto without = resolve(args, environment);
    EXPECT_FALSE(without.engine.greedy);
    ASSERT_EQ(without.notes.size(), 1U);
    EXPECT_EQ(without.notes[0],
              "environment variable SGLANG_NGRAM_FORCE_GREEDY_VERIFY has no effect without "
              "--speculative-algorithm NGRAM");
  }
}

TEST(Options, a_window_that_the_trie_cannot_hold_is_named) {
  const auto warnings = [](std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--speculative-algorithm", "NGRAM"});
    return resolve(flags).warnings;
  };
  const auto cut = warnings({"--speculative-ngram-max-match-window-size", "40"});
  ASSERT_EQ(cut.size(), 1U);
  EXPECT_NE(cut[0].find("--speculative-ngram-max-match-window-size 40 is more than "
                        "--speculative-ngram-max-trie-depth 18 leaves room for: at most 17"),
            std::string::npos)
      << cut[0];
  EXPECT_TRUE(warnings({"--speculative-ngram-max-match-window-size", "17"}).empty());
  EXPECT_TRUE(warnings({"--speculative-ngram-max-trie-depth", "8"}).empty());
}

TEST(Options, ngram_flags_without_ngram_are_named) {
  const auto options = resolve({"--speculative-ngram-capacity", "5000"});
  ASSERT_EQ(options.warnings.size(), 1U);
  EXPECT_NE(options.warnings[0].find("no effect without --speculative-algorithm NGRAM"),
            std::string::npos);
}

TEST(Options, suffix_flags_are_checked) {
  const auto fault = [](const std::string& flag, const std::string& value) {
    return usage_error(
        {"--speculative-algorithm", "suffix", "--speculative-suffix-" + flag, value});
  };
  EXPECT_NE(fault("max-tree-depth", "1").find("2 to 255"), std::string::npos);
  EXPECT_NE(fault("max-tree-depth", "256").find("2 to 255"), std::string::npos);
  EXPECT_NE(fault("max-cached-requests", "-1").find("0 to"), std::string::npos);
  EXPECT_NE(fault("max-spec-factor", "-0.5").find("0 to 1000"), std::string::npos);
  EXPECT_NE(fault("min-token-prob", "1.5").find("0 to 1"), std::string::npos);
  EXPECT_NE(fault("min-token-prob", "nan").find("min-token-prob"), std::string::npos);
  EXPECT_NE(fault("capacity", "0").find("1 to"), std::string::npos);
  EXPECT_NE(fault("isolation", "all").find("shared"), std::string::npos);
  const auto options = resolve({"--speculative-suffix-capacity", "5000"});
  ASSERT_EQ(options.warnings.size(), 1U);
  EXPECT_NE(options.warnings[0].find("no effect without --speculative-algorithm SUFFIX"),
            std::string::npos);
}

TEST(Options, several_algorithms_are_one_model_and_any_texts) {
  const auto options =
      resolve({"--speculative-algorithm", "ngram+standalone+SUFFIX", "--speculative-ngram-capacity",
               "1000", "--speculative-suffix-capacity", "1000"});
  EXPECT_EQ(options.draft.algorithm, "NGRAM+STANDALONE+SUFFIX");
  EXPECT_EQ(options.engine.max_running_requests, 48) << "a model drafts";
  EXPECT_EQ(options.warnings.size(), 1U) << "all flags have an effect";
  EXPECT_NE(usage_error({"--speculative-algorithm", "EAGLE+STANDALONE"})
                .find("one drafter runs a model at most"),
            std::string::npos);
  EXPECT_NE(usage_error({"--speculative-algorithm", "NGRAM+ngram"}).find("NGRAM is named twice"),
            std::string::npos);
  EXPECT_EQ(usage_error({"--speculative-algorithm", "NGRAM+"}),
            "an empty name among several (--speculative-algorithm): found NGRAM+");
}

TEST(Options, a_head_that_comes_with_the_target_needs_no_folder) {
  const auto options = resolve({"--speculative-algorithm", "NEXTN"});
  EXPECT_EQ(options.draft.algorithm, "EAGLE");
  EXPECT_EQ(options.draft.folder, "");
  EXPECT_EQ(options.draft.target_folder, options.load.model_folder);
}

TEST(Options, acceptance_is_simulated_by_sglangs_variables_too) {
  Environment environment;
  environment.simulate_acc_len = "-1";
  EXPECT_EQ(resolve({}, environment).simulation.length, 0.0);
  environment.simulate_acc_len = "2.5";
  environment.simulate_acc_method = "multinomial";
  EXPECT_EQ(resolve({}, environment).simulation.length, 2.5);
  EXPECT_EQ(resolve({}, environment).simulation.method, AcceptanceSimulation::Method::kMultinomial);
  EXPECT_EQ(resolve({"--simulate-acc-len", "4"}, environment).simulation.length, 4.0);
  environment.simulate_acc_method = "poisson";
  EXPECT_THROW(resolve({}, environment), UsageError);
  environment.simulate_acc_len = "2,5";
  EXPECT_THROW(resolve({}, environment), UsageError);
  EXPECT_NE(usage_error({"--simulate-acc-len", "0.5"}).find("expected at least 1, found 0.5"),
            std::string::npos);
}

}  // namespace
}  // namespace foretoken
