#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "app/testing/resolve.h"
#include "draft/from_text/ngram/ngram_options.h"
#include "draft/from_text/suffix/suffix_options.h"

namespace foretoken {
namespace {

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
      {{"--device", "vulkan:1"}, [](auto& o) { return o.backend.device == "vulkan:1"; }},
      {{"--threads", "3"}, [](auto& o) { return o.threads == 3; }},
      {{"--cpu-isa", "avx2"}, [](auto& o) { return o.backend.cpu_isa == "avx2"; }},
      {{"--gemm-order", "pair"}, [](auto& o) { return o.backend.gemm_order == "pair"; }},
      {{"--mem-fraction-static", "0.5"}, [](auto& o) { return o.memory.fraction == 0.5; }},
      {{"--max-total-tokens", "640"}, [](auto& o) { return o.memory.max_total_tokens == 640; }},
      {{"--overlap-schedule", "on"}, [](auto& o) { return o.engine.ring_depth == 2; }},
      {{"--disable-radix-cache"}, [](auto& o) { return !o.engine.radix_cache; }},
      {{"--max-mamba-cache-size", "9"}, [](auto& o) { return o.engine.state_snapshots == 9; }},
      {{"--max-running-requests", "5"}, [](auto& o) { return o.engine.max_running_requests == 5; }},
      {{"--max-queued-requests", "6"}, [](auto& o) { return o.engine.max_queued_requests == 6; }},
      {{"--chunked-prefill-size", "-1"},
       [](auto& o) { return o.engine.chunked_prefill_size == -1; }},
      {{"--max-prefill-tokens", "77"}, [](auto& o) { return o.engine.max_prefill_tokens == 77; }},
      {{"--schedule-policy", "lpm"},
       [](auto& o) { return o.engine.policy == SchedulePolicy::kLpm; }},
      {{"--enable-priority-scheduling"},
       [](auto& o) {
         return o.engine.has_ranks && o.engine.preemption_gap == 10 &&
                o.server.priorities.are_served;
       }},
      {{"--priority-scheduling-preemption-threshold", "3", "--enable-priority-scheduling"},
       [](auto& o) { return o.engine.preemption_gap == 3; }},
      {{"--disable-priority-preemption", "--enable-priority-scheduling"},
       [](auto& o) { return o.engine.has_ranks && !o.engine.preemption_gap; }},
      {{"--schedule-low-priority-values-first"},
       [](auto& o) { return o.server.priorities.low_first; }},
      {{"--default-priority-value", "-4"},
       [](auto& o) { return o.server.priorities.standard == -4; }},
      {{"--abort-on-priority-when-disabled"},
       [](auto& o) { return o.server.priorities.refuses_unserved; }},
      {{"--enable-return-hidden-states"}, [](auto& o) { return o.server.returns_hidden_states; }},
      {{"--allow-auto-truncate"}, [](auto& o) { return o.server.allow_auto_truncate; }},
      {{"--random-seed", "42"},
       [](auto& o) { return o.server.random_seed == 42 && o.load.seed == 42; }},
      {{"--host", "0.0.0.0"}, [](auto& o) { return o.server.host == "0.0.0.0"; }},
      {{"--port", "0"}, [](auto& o) { return o.server.port == 0; }},
      {{"--api-key", "k"}, [](auto& o) { return o.server.api_key == "k"; }},
      {{"--admin-api-key", "a"}, [](auto& o) { return o.server.admin_api_key == "a"; }},
      {{"--allow-origin", "https://Chat.example:8443", "null"},
       [](auto& o) {
         return o.server.allowed_origins ==
                std::vector<std::string>{"https://chat.example:8443", "null"};
       }},
      {{"--disable-ui"}, [](auto& o) { return !o.server.serves_page; }},
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
  // --model-path, --revision, --download-dir, --offline and --disable-overlap-schedule have their own
  // tests; the draft model's revision acts as the target's.
  std::set<std::string> tested;
  for (const auto& effect : effects) tested.insert(effect.args.front());
  EXPECT_EQ(tested.size() + 6, supported) << "a supported flag has no row in this test";
  for (const auto& effect : effects) {
    EXPECT_FALSE(effect.shows(plain)) << effect.args.front();
    EXPECT_TRUE(effect.shows(resolve(effect.args))) << effect.args.front();
  }
}

}  // namespace
}  // namespace foretoken
