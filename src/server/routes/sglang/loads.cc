// GET /get_load and /v1/loads: how busy the engine is, for balancers of load. Sections and names are
// SGLang's; what this server has none of (adapters, disaggregation) is left out or empty.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/byte_text.h"
#include "server/http/error_reply.h"
#include "server/json/json_writer.h"
#include "server/routes/sglang/api.h"

namespace foretoken {
namespace {

constexpr const char* kVersion = FORETOKEN_VERSION;

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

using Value = std::variant<std::int64_t, double, std::string_view>;

struct Section {
  std::string_view name;    // "core": its values are of the answer itself
  std::string_view prefix;  // of its metrics
  std::vector<std::pair<std::string_view, Value>> values;
};

// In SGLang's order.
std::vector<Section> sections_of(const ServerContext& context, const EngineStats& stats) {
  const ServerConfig& config = context.config;
  const std::int64_t running = stats.running, queued = stats.queued;
  std::vector<Section> out;
  out.push_back({"core",
                 "",
                 {{"num_running_reqs", running},
                  {"num_waiting_reqs", queued},
                  {"num_total_reqs", running + queued},
                  {"num_used_tokens", std::int64_t{stats.used_tokens}},
                  {"max_total_num_tokens", std::int64_t{stats.total_tokens}},
                  {"token_usage", share(stats.used_tokens, stats.total_tokens)},
                  {"gen_throughput", stats.gen_throughput},
                  {"cache_hit_rate", stats.cache_hit_rate},
                  {"utilization", share(running, config.max_running_requests)},
                  {"max_running_requests", std::int64_t{config.max_running_requests}}}});
  out.push_back({"memory",
                 "memory_",
                 {{"weight_gb", gigabytes(config.weight_bytes)},
                  {"kv_cache_gb", gigabytes(config.kv_bytes)},
                  {"graph_gb", 0.0},
                  {"token_capacity", std::int64_t{stats.total_tokens}}}});
  if (config.draft_nodes > 0)
    out.push_back({"speculative",
                   "spec_",
                   {{"accept_length", 1.0 + share(static_cast<std::int64_t>(stats.accepted_drafts),
                                                  static_cast<std::int64_t>(stats.verify_steps))},
                    {"accept_rate", share(static_cast<std::int64_t>(stats.accepted_drafts),
                                          static_cast<std::int64_t>(stats.proposed_drafts))}}});
  out.push_back({"disaggregation", "disagg_", {{"mode", "null"}}});
  out.push_back({"queues",
                 "queues_",
                 {{"waiting", queued},
                  {"grammar", std::int64_t{0}},
                  {"paused", std::int64_t{0}},
                  {"retracted", std::int64_t{0}}}});
  return out;
}

// Names of `include`, and the sections that they are.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kIncludes{
    {{"all", "all"},
     {"core", "core"},
     {"memory", "memory"},
     {"spec", "speculative"},
     {"speculative", "speculative"},
     {"disagg", "disaggregation"},
     {"disaggregation", "disaggregation"},
     {"queues", "queues"},
     {"lora", "lora"}}};

// Wanted sections; empty: all.
Result<std::vector<std::string_view>> read_include(std::string_view list) {
  std::vector<std::string_view> out;
  while (!list.empty()) {
    const auto end = std::min(list.find(','), list.size());
    std::string_view name = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    const auto found =
        std::ranges::find(kIncludes, name, [](const auto& one) { return one.first; });
    if (found == kIncludes.end())
      return Refusal{
          fmt::format("include should name core, memory, speculative, queues, disagg, lora or all, "
                      "got '{}'",
                      name)};
    if (found->second == "all") return std::vector<std::string_view>();
    out.push_back(found->second);
  }
  return out;
}

// There is one rank.
std::optional<Refusal> check_rank(const std::string& text) {
  int rank = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  if (text.empty() || (is_number && rank == 0)) return std::nullopt;
  return Refusal{fmt::format("dp_rank must be 0: there is one engine, got {}.", text)};
}

void write_values(JsonWriter& json, const Section& section) {
  for (const auto& [name, value] : section.values)
    std::visit([&, &name = name](const auto& one) { json.field(name, one); }, value);
}

HttpReply as_json(const std::vector<Section>& sections) {
  const auto now = std::chrono::system_clock::now();
  JsonWriter json;
  json.begin_object();
  json.field("timestamp", fmt::format("{:%Y-%m-%dT%H:%M:%S}+00:00",
                                      fmt::gmtime(std::chrono::system_clock::to_time_t(now))));
  json.field("version", kVersion).field_null("accelerator").field("num_accelerators", 1);
  json.field("dp_rank_count", 1).key("loads").begin_array().begin_object().field("dp_rank", 0);
  json.field("timestamp", std::chrono::duration<double>(now.time_since_epoch()).count());
  for (const Section& section : sections) {
    if (section.name == "core") {
      write_values(json, section);
      continue;
    }
    json.key(section.name).begin_object();
    write_values(json, section);
    json.end_object();
  }
  json.end_object().end_array().end_object();
  return {.body = json.take()};
}

// Numbers only.
HttpReply as_metrics(const std::vector<Section>& sections) {
  std::string text;
  for (const Section& section : sections)
    for (const auto& [name, value] : section.values) {
      if (std::holds_alternative<std::string_view>(value)) continue;
      const std::string metric = fmt::format("sglang_{}{}", section.prefix, name);
      const double number = std::holds_alternative<double>(value)
                                ? std::get<double>(value)
                                : static_cast<double>(std::get<std::int64_t>(value));
      text += fmt::format("# TYPE {0} gauge\n{0}{{dp_rank=\"0\"}} {1}\n", metric, number);
    }
  return {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = std::move(text)};
}

HttpReply loads(const ServerContext& context, const HttpRequest& request) {
  const auto include = read_include(request.query_value("include"));
  if (!include) return error_reply(ErrorStyle::kNative, include.refusal());
  if (const auto refusal = check_rank(request.query_value("dp_rank")))
    return error_reply(ErrorStyle::kNative, *refusal);
  const std::string format = request.query_value("format");
  if (!format.empty() && format != "json" && format != "prometheus")
    return error_reply(ErrorStyle::kNative,
                       {fmt::format("format must be json or prometheus, got {}.", format)});
  auto sections = sections_of(context, context.engine.stats());
  if (!include->empty())
    std::erase_if(sections, [&](const Section& section) {
      return std::ranges::find(*include, section.name) == include->end();
    });
  return format == "prometheus" ? as_metrics(sections) : as_json(sections);
}

}  // namespace

void handle_get_load(ServerContext& context, const ExchangePtr& exchange) {
  const EngineStats stats = context.engine.stats();
  JsonWriter json;
  json.begin_array().begin_object();
  json.field("dp_rank", 0).field("num_reqs", stats.running + stats.queued);
  json.field("num_waiting_reqs", stats.queued).field("num_tokens", stats.used_tokens);
  json.end_object().end_array();
  exchange->reply({.body = json.take()});
}

void handle_loads(ServerContext& context, const ExchangePtr& exchange) {
  exchange->reply(loads(context, exchange->request()));
}

}  // namespace foretoken
