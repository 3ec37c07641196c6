#include "app/options/server_options.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "app/options/checked_flags.h"
#include "base/letters.h"

namespace foretoken {
namespace {

// A number of seconds; a week is as good as for ever, and fits into every clock.
double seconds(const FlagValues& values, std::string_view name, double least) {
  constexpr double kWeek = 7 * 24 * 3600;
  const double value = *values.number(name);
  if (!(value >= least && value <= kWeek))
    throw UsageError({.what = std::string(name),
                      .expected = fmt::format("{} to {} seconds", least, kWeek),
                      .found = values.text(name)});
  return value;
}

// What connections and bodies may take.
void fill_limits(const FlagValues& values, ServerConfig& server) {
  constexpr int kMostMb = 1 << 20;
  const auto bytes = [](int mb) { return static_cast<std::size_t>(mb) << 20; };
  const int body = *bounded(values, "--max-body-mb", 1, kMostMb / 4);
  const int budget =
      bounded(values, "--body-budget-mb", 2 * body, kMostMb).value_or(std::max(256, 4 * body));
  server.max_body_bytes = bytes(body);
  server.body_budget_bytes = bytes(budget);
  server.max_connections =
      static_cast<std::size_t>(*bounded(values, "--max-connections", 1, 1 << 20));
  server.io_threads = *bounded(values, "--io-threads", 1, 256);
  server.receive_timeout_seconds = seconds(values, "--receive-timeout", 0.1);
  server.request_timeout_seconds = seconds(values, "--request-timeout", 0);
  server.drain_seconds = seconds(values, "--drain-timeout", 0);
}

// Whether a browser may name this as the origin of a page: a scheme, a host, maybe a port.
bool is_origin(std::string_view text) {
  if (text == "*" || text == "null") return true;
  const auto scheme = text.find("://");
  if (scheme == std::string_view::npos || scheme == 0) return false;
  const std::string_view host = text.substr(scheme + 3);
  const auto is_of_host = [](char c) {
    return (c > ' ' && c < 0x7f) &&
           std::string_view("/?#@\\\"<>*").find(c) == std::string_view::npos;
  };
  return !host.empty() && std::ranges::all_of(host, is_of_host) &&
         std::ranges::all_of(text.substr(0, scheme), is_of_host);
}

std::vector<std::string> origins(const FlagValues& values) {
  std::vector<std::string> out;
  for (const std::string& origin : values.list("--allow-origin")) {
    if (!is_origin(origin))
      throw UsageError({.what = "--allow-origin",
                        .expected = "an origin such as https://chat.example:8443, or *",
                        .found = "'" + origin + "'"});
    out.push_back(lower_case(origin));
  }
  return out;
}

}  // namespace

ServerConfig server_config(const FlagValues& values, const LoadOptions& load) {
  ServerConfig server;
  server.load_format = load.load_format;
  server.random_seed = load.seed;
  server.skip_tokenizer_init = values.on("--skip-tokenizer-init");
  server.log_requests = values.on("--log-requests");
  server.log_requests_level = *bounded(values, "--log-requests-level", 0, 3);
  server.enable_metrics = values.on("--enable-metrics");
  server.allow_auto_truncate = values.on("--allow-auto-truncate");
  return server;
}

void fill_http(const FlagValues& values, ServerConfig& server) {
  server.host = values.text("--host");
  if (server.host.empty()) throw UsageError("--host: expected an address, found ''");
  server.port = *bounded(values, "--port", 0, 65535);
  fill_limits(values, server);
  server.api_key = values.text("--api-key");
  server.admin_api_key = values.text("--admin-api-key");
  server.serves_page = !values.on("--disable-ui");
  server.allowed_origins = origins(values);
  if (values.given("--served-model-name"))
    server.served_model_name = values.text("--served-model-name");
  if (server.served_model_name.find(':') != std::string::npos &&
      values.given("--served-model-name"))
    throw UsageError("--served-model-name: expected a name without ':', found '" +
                     server.served_model_name + "'");
  server.preferred_sampling_params = json_object(values, "--preferred-sampling-params");
  server.weight_version = values.text("--weight-version");
  server.priorities = {
      .are_served = values.on("--enable-priority-scheduling"),
      .low_first = values.on("--schedule-low-priority-values-first"),
      .refuses_unserved = values.on("--abort-on-priority-when-disabled"),
      .standard = bounded(values, "--default-priority-value", std::numeric_limits<int>::min())};
  server.returns_hidden_states = values.on("--enable-return-hidden-states");
  server.reasoning_parser = values.text("--reasoning-parser");
  server.tool_call_parser = values.text("--tool-call-parser");
  server.prompts_tools = values.text("--tools-without-template") == "prompt";
  server.stream_interval = *bounded(values, "--stream-interval", 1);
  server.incremental_streaming_output = values.on("--incremental-streaming-output");
  server.stream_include_usage = values.on("--stream-response-default-include-usage");
  server.enable_cache_report = values.on("--enable-cache-report");
  server.serves_grammars = values.text("--grammar-backend") != "none";
  server.binds_arguments = values.text("--bind-tool-arguments") == "all";
  if (values.given("--constrained-json-whitespace-pattern"))
    server.json_layout.whitespace_pattern = values.text("--constrained-json-whitespace-pattern");
  server.json_layout.is_compact = values.on("--constrained-json-disable-any-whitespace");
  if (server.json_layout.whitespace_pattern && server.json_layout.is_compact)
    throw UsageError(
        "--constrained-json-whitespace-pattern: not together with "
        "--constrained-json-disable-any-whitespace");
}

void name_model(const FlagValues& values, const LoadOptions& load, ServerConfig& server) {
  const bool demo = !values.given("--model-path");
  server.model_path = demo ? load.model_folder : values.text("--model-path");
  server.tokenizer_path =
      values.given("--tokenizer-path") ? values.text("--tokenizer-path") : server.model_path;
  if (server.served_model_name.empty())
    server.served_model_name = demo ? "foretoken-demo" : server.model_path;
}

}  // namespace foretoken
