#pragma once
// ServerConfig: everything the HTTP side needs to know, resolved once from the flags. Plain data.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/types.h"
#include "draft/from_text/ngram/corpora.h"
#include "text/grammar.h"

namespace foretoken {

// Sampling defaults of the OpenAI routes (generation_config.json under --sampling-defaults model).
struct SamplingDefaults {
  std::optional<double> temperature, top_p, min_p, repetition_penalty;
  std::optional<int> top_k;
};

// What `priority` of requests means.
struct PriorityRules {
  bool are_served = false;
  bool low_first = false;                // the lowest number goes first
  bool refuses_unserved = false;         // where they are not served
  std::optional<std::int64_t> standard;  // of requests that name none; absent: they go last
};

struct ServerConfig {
  std::string host = "127.0.0.1";
  int port = 30000;     // 0: any free port, printed in the log
  std::string api_key;  // empty: no authorisation
  std::string admin_api_key;
  bool serves_page = true;                   // GET / and what it is made of
  std::vector<std::string> allowed_origins;  // see http/origins.h
  std::string model_path;
  std::string tokenizer_path;
  std::string served_model_name;
  std::string model_type;  // config.json's
  std::vector<std::string> architectures;
  std::string load_format = "auto";
  std::string weight_version = "default";
  std::string
      reasoning_parser;  // of find_reasoning_style; auto: as the template tells; empty: none
  std::string tool_call_parser = "auto";  // of find_call_style; auto: as the template tells
  // Tools that the chat template shows nowhere are written into the system prompt; else refused.
  bool prompts_tools = true;
  std::string preferred_sampling_params;  // JSON object or empty
  SamplingDefaults sampling_defaults;
  PriorityRules priorities;
  bool returns_hidden_states = false;  // to generating requests that ask
  std::int64_t vocab = 0;
  std::int64_t hidden_width = 0;  // of the model's hidden states
  std::int64_t context_length = 0;
  std::int64_t given_context_length = 0;  // as the operator asked for; 0: left to the model
  int max_running_requests = 0;
  std::vector<Token> eos;            // stop tokens unless ignore_eos
  std::uint64_t random_seed = 0;     // of requests without a seed
  std::shared_ptr<Corpora> corpora;  // that routes add to; null: nothing drafts from them
  bool skip_tokenizer_init = false;
  bool log_requests = false;
  int log_requests_level = 2;
  bool enable_metrics = false;
  std::string draft_method;           // the algorithm's name; empty: nothing is drafted
  int draft_steps = 0;                // levels of the draft trees; 0: nothing is drafted
  int draft_nodes = 0;                // of a draft tree, root included
  bool serves_predictions = true;     // drafts come from the prediction of a request, too
  std::vector<std::string> drafters;  // as reports and wishes number them
  // The name there of what a request calls a drafter.
  std::function<std::string(const std::string&)> drafter_named = [](const std::string& name) {
    return name;
  };
  bool serves_grammars = true;
  bool binds_arguments = true;  // of calls to the schemas of all tools, not only of strict ones
  JsonLayout json_layout;       // of answers that are JSON, unless a request wishes otherwise
  bool enable_cache_report = false;
  bool incremental_streaming_output = false;
  bool stream_include_usage = false;  // --stream-response-default-include-usage
  int stream_interval = 1;
  bool allow_auto_truncate = false;
  double request_timeout_seconds = 0;    // of requests that name none; 0: no limit
  bool handle_signals = true;            // drain on SIGTERM and SIGINT
  double drain_seconds = 25;             // how long running requests may finish after SIGTERM
  double receive_timeout_seconds = 120;  // from a request's first byte to its last
  std::size_t max_body_bytes = std::size_t{64} << 20;
  std::size_t body_budget_bytes = std::size_t{256} << 20;  // of all requests together
  std::size_t max_connections = 8192;
  int io_threads = 2;
  std::string backend;  // what computes, as the log says it: device, order of addition
  // Seconds of the parts of the start, by SGLang's names for them; filled when ready.
  std::vector<std::pair<std::string, double>> startup_phases;
  // Every resolved flag by its SGLang name and JSON text value, for /server_info.
  std::vector<std::pair<std::string, std::string>> server_args;
  std::size_t weight_bytes = 0, kv_bytes = 0;              // of all models
  std::size_t draft_weight_bytes = 0, draft_kv_bytes = 0;  // of the draft model alone
};

}  // namespace foretoken
