#include "app/flags/flag_table.h"
#include "text/dialogue/call_style.h"
#include "text/dialogue/reasoning_style.h"

namespace foretoken {

using enum FlagKind;
using enum Support;

namespace {
constexpr std::string_view kNoTls = "not supported yet: the server speaks plain HTTP";

std::vector<std::string_view> call_parser_names() {
  auto names = call_style_names();
  names.insert(names.end(), {"auto", "none"});
  return names;
}

std::vector<std::string_view> reasoning_parser_names() {
  auto names = reasoning_style_names();
  names.emplace_back("auto");
  return names;
}

}  // namespace

FlagGroup http_flags() {
  return {
      "HTTP",
      {
          {.names = {"--host"},
           .text = "address to listen on, or a name that stands for all its addresses; 0.0.0.0 for "
                   "all, :: for all of IPv6 too",
           .default_value = "127.0.0.1"},
          {.names = {"--port"},
           .kind = kInteger,
           .text = "0: any free port, printed in the log",
           .default_value = "30000"},
          {.names = {"--max-connections"},
           .kind = kInteger,
           .text = "connections open at once; fewer than there are file descriptors",
           .default_value = "8192"},
          {.names = {"--io-threads"},
           .kind = kInteger,
           .text = "threads that serve all connections",
           .default_value = "2"},
          {.names = {"--max-body-mb"},
           .kind = kInteger,
           .text = "largest body of a request, in MiB",
           .default_value = "64"},
          {.names = {"--body-budget-mb"},
           .kind = kInteger,
           .text = "memory for the bodies of all requests together, in MiB; at least twice the "
                   "largest body",
           .default_note = "256, or four times the largest body"},
          {.names = {"--receive-timeout"},
           .kind = kNumber,
           .text = "seconds in which a request must have come, head and body",
           .default_value = "120"},
          {.names = {"--request-timeout"},
           .kind = kNumber,
           .text = "seconds after which a request that is not finished ends with an error; a "
                   "request may ask for less (timeout_seconds); 0: no limit",
           .default_value = "0"},
          {.names = {"--drain-timeout"},
           .kind = kNumber,
           .text = "seconds that running requests may still take after SIGTERM; three more until "
                   "the end",
           .default_value = "25"},
          {.names = {"--api-key"}, .text = "bearer token that requests must carry"},
          {.names = {"--admin-api-key"}, .text = "bearer token of the administrative routes"},
          {.names = {"--allow-origin"},
           .kind = kTextList,
           .text = "origins whose pages may call the server from a browser, such as "
                   "https://chat.example; *: all",
           .is_gathered = true},
          {.names = {"--disable-ui"}, .kind = kSwitch, .text = "serve no page at /"},
          {.names = {"--served-model-name"},
           .text = "model name in answers",
           .default_note = "the model path"},
          {.names = {"--sampling-defaults"},
           .text = "defaults of the OpenAI routes: the model's generation_config.json, or OpenAI's",
           .default_value = "model",
           .choices = {"model", "openai"}},
          {.names = {"--preferred-sampling-params"},
           .text = "JSON object with sampling parameters shown in /model_info"},
          {.names = {"--stream-interval"},
           .kind = kInteger,
           .text = "tokens per event of a stream",
           .default_value = "1"},
          {.names = {"--incremental-streaming-output", "--stream-output"},
           .kind = kSwitch,
           .text = "/generate streams the new text only, not all so far"},
          {.names = {"--stream-response-default-include-usage"},
           .kind = kSwitch,
           .text = "end streams with the usage unless the request says otherwise"},
          {.names = {"--enable-cache-report"},
           .kind = kSwitch,
           .text = "report cached prompt tokens in the usage"},
          {.names = {"--skip-server-warmup"},
           .kind = kSwitch,
           .text = "answer before a first generation has succeeded"},
          {.names = {"--weight-version"},
           .text = "label of the weights in answers",
           .default_value = "default"},
          {.names = {"--completion-template"},
           .support = kRefused,
           .text = "not supported yet: /v1/completions takes the prompt as it is"},
          {.names = {"--file-storage-path"},
           .support = kNoEffect,
           .text = "there is no files interface",
           .default_value = "sglang_storage"},
          {.names = {"--reasoning-parser"},
           .text = "family of the model by which reasoning is told from the answer; auto takes the "
                   "chat template's",
           .choices = reasoning_parser_names()},
          {.names = {"--tool-call-parser"},
           .text = "family by which calls of tools are read: auto takes the chat template's, none "
                   "leaves them in the text",
           .default_value = "auto",
           .choices = call_parser_names()},
          {.names = {"--tools-without-template"},
           .text = "tools that the chat template shows nowhere: refuse the request, or write them "
                   "into the system prompt",
           .default_value = "prompt",
           .choices = {"refuse", "prompt"}},
          {.names = {"--ssl-keyfile"}, .support = kRefused, .text = kNoTls},
          {.names = {"--ssl-certfile"}, .support = kRefused, .text = kNoTls},
          {.names = {"--ssl-ca-certs"}, .support = kRefused, .text = kNoTls},
          {.names = {"--ssl-keyfile-password"}, .support = kRefused, .text = kNoTls},
          {.names = {"--config"},
           .support = kRefused,
           .text = "not supported yet: flags are given on the command line"},
      }};
}

FlagGroup logging_flags() {
  constexpr std::string_view kFixedBuckets = "not supported yet: the buckets are fixed";
  return {
      "Logging and metrics",
      {
          {.names = {"--log-level"},
           .text = "least severe line that is printed",
           .default_value = "info",
           .choices = {"debug", "info", "warning", "error", "critical"}},
          {.names = {"--log-level-http"},
           .support = kNoEffect,
           .text = "there is no access log; see --log-requests"},
          {.names = {"--log-requests"}, .kind = kSwitch, .text = "one line per request"},
          {.names = {"--log-requests-level"},
           .kind = kInteger,
           .text = "0: metadata, 1: and sampling parameters, 2: and shortened text, 3: all text",
           .default_value = "2",
           .choices = {"0", "1", "2", "3"}},
          {.names = {"--decode-log-interval"},
           .kind = kInteger,
           .text = "steps between two `Decode batch` lines",
           .default_value = "40"},
          {.names = {"--show-time-cost"},
           .kind = kSwitch,
           .support = kNoEffect,
           .text = "the log lines hold the throughput"},
          {.names = {"--enable-metrics"}, .kind = kSwitch, .text = "serve /metrics for Prometheus"},
          {.names = {"--bucket-time-to-first-token"},
           .kind = kTextList,
           .support = kRefused,
           .text = kFixedBuckets},
          {.names = {"--bucket-inter-token-latency"},
           .kind = kTextList,
           .support = kRefused,
           .text = kFixedBuckets},
          {.names = {"--bucket-e2e-request-latency"},
           .kind = kTextList,
           .support = kRefused,
           .text = kFixedBuckets},
          {.names = {"--crash-dump-folder"},
           .support = kRefused,
           .text = "not supported yet: requests are not recorded"},
      }};
}

}  // namespace foretoken
