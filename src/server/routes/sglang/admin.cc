#include <algorithm>
#include <chrono>
#include <ctime>
#include <string>

#include "base/byte_text.h"
#include "server/json/json_fields.h"
#include "server/json/json_writer.h"
#include "server/request/generation.h"
#include "server/routes/sglang/api.h"

namespace foretoken {
namespace {

// The name of a style of answers, or null.
template <typename Style>
void write_style(JsonWriter& json, const Style* style) {
  if (style == nullptr)
    json.null();
  else
    json.string(style->name);
}

constexpr auto kEnginePatience = std::chrono::seconds(10);  // for an answer between two steps
constexpr const char* kVersion = FORETOKEN_VERSION;

// Where steps end, tokens come, and a request of its own would wait behind those that queue.
bool is_at_work(const EngineStats& stats) {
  constexpr auto kLongStep = std::chrono::seconds(60);
  return stats.fault.empty() && stats.running > 0 &&
         std::chrono::steady_clock::now() - stats.last_step < kLongStep;
}

// The one-token request of /health_generate: only its status counts.
class HealthFormat final : public AnswerFormat {
 public:
  void write_event(const RunningChoice&, std::string&) override {}
  void write_ending(const std::vector<RunningChoice>&, std::string&) override {}
  HttpReply whole(const std::vector<RunningChoice>& choices) override {
    const auto& end = choices.front().choice.end();
    const bool well = end && end->kind != ChoiceEnd::Kind::kAbort;
    return {.status = well ? 200 : 503, .content_type = "text/plain; charset=utf-8"};
  }
};

void write_optional(JsonWriter& json, std::string_view name, const std::string& text) {
  if (text.empty())
    json.field_null(name);
  else
    json.field(name, text);
}

// How much was drafted, and why no more.
void write_draft_counts(JsonWriter& json, const ServerConfig& config, const EngineStats& stats) {
  const DraftReport& drafts = stats.drafts;
  json.key("drafts").begin_object();
  json.field("steps", drafts.steps).field("drafted_steps", drafts.drafted);
  json.field("rested_steps", drafts.rested).field("unwished_steps", drafts.unwished);
  json.field("proposed_tokens", stats.proposed_drafts);
  json.field("accepted_tokens", stats.accepted_drafts);
  json.field("verify_steps", stats.verify_steps).key("drafters").begin_object();
  for (std::size_t i = 0; i < std::min(config.drafters.size(), kMostDrafters); ++i) {
    const DraftTally& tally = drafts.by_drafter[i];
    json.key(config.drafters[i]).begin_object();
    json.field("proposed", tally.proposed).field("accepted", tally.accepted).end_object();
  }
  json.end_object();
  json.key("reason");
  if (drafts.reason().empty())
    json.null();
  else
    json.string(std::string(drafts.reason()));
  json.end_object();
}

void write_internal_state(JsonWriter& json, const ServerContext& context,
                          const EngineStats& stats) {
  const ServerConfig& config = context.config;
  json.begin_object();
  for (const auto& [name, value] : config.server_args) json.key(name).raw(value);
  json.field("last_gen_throughput", stats.gen_throughput);
  json.key("memory_usage").begin_object();
  json.field("weight", gigabytes(config.weight_bytes));
  json.field("kvcache", gigabytes(config.kv_bytes));
  json.field("draft_weight", gigabytes(config.draft_weight_bytes));
  json.field("draft_kvcache", gigabytes(config.draft_kv_bytes));
  json.field("token_capacity", stats.total_tokens).field("graph", 0);
  json.end_object();
  json.field("effective_max_running_requests_per_dp", config.max_running_requests);
  const auto mean = context.acceptance.tokens_per_step({stats.accepted_drafts, stats.verify_steps});
  if (config.draft_nodes > 0 && mean) json.field("avg_spec_accept_length", *mean);
  if (stats.drafts.steps > 0) write_draft_counts(json, config, stats);
  json.end_object();
}

}  // namespace

void handle_health(ServerContext& context, const ExchangePtr& exchange) {
  const std::string fault = context.engine.stats().fault;
  exchange->reply({.status = context.draining || !fault.empty() ? 503 : 200,
                   .content_type = "text/plain; charset=utf-8",
                   .body = fault});
}

void handle_health_generate(ServerContext& context, const ExchangePtr& exchange) {
  if (is_at_work(context.engine.stats()))
    return exchange->reply({.status = 200, .content_type = "text/plain; charset=utf-8"});
  GenerationPlan plan;
  Request request;
  request.id = "HEALTH_CHECK_" + new_request_id();
  request.prompt = {0};
  request.max_new_tokens = 1;
  request.sampling.temperature = 0.0F;
  request.sampling.top_logprobs = -1;
  plan.add(std::move(request), Choice(context.tokenizer, {}, nullptr));
  plan.errors = ErrorStyle::kNative;
  plan.format = std::make_unique<HealthFormat>();
  start_generation(context, exchange, std::move(plan));
}

void handle_model_info(ServerContext& context, const ExchangePtr& exchange) {
  const ServerConfig& config = context.config;
  JsonWriter json;
  json.begin_object();
  json.field("model_path", config.model_path);
  json.field("served_model_name", config.served_model_name);
  json.field("tokenizer_path", config.tokenizer_path);
  json.field("is_generation", true);
  json.key("preferred_sampling_params");
  if (config.preferred_sampling_params.empty())
    json.null();
  else
    json.raw(config.preferred_sampling_params);
  json.field("weight_version", context.weight_version.get());
  json.field("load_format", config.load_format);
  json.key("reasoning_parser");
  write_style(json, context.reasoning_style);
  json.key("tool_call_parser");
  write_style(json, context.call_style);
  json.field("has_image_understanding", false).field("has_audio_understanding", false);
  write_optional(json, "model_type", config.model_type);
  json.key("architectures").begin_array();
  for (const auto& name : config.architectures) json.string(name);
  json.end_array().end_object();
  exchange->reply({.body = json.take()});
}

void handle_server_info(ServerContext& context, const ExchangePtr& exchange) {
  const ServerConfig& config = context.config;
  const EngineStats stats = context.engine.stats();
  JsonWriter json;
  json.begin_object();
  for (const auto& [name, value] : config.server_args) json.key(name).raw(value);
  json.field("status", context.draining ? "draining" : "ready");
  json.field("max_total_num_tokens", stats.total_tokens);
  json.field("max_req_input_len", config.context_length - 1);
  json.field("backend", config.backend);
  json.key("startup_time").begin_object();
  for (const auto& [phase, seconds] : config.startup_phases) json.field(phase, seconds);
  json.end_object();
  json.key("internal_states").begin_array();
  write_internal_state(json, context, stats);
  json.end_array();
  json.field("version", kVersion).field_null("kv_events").end_object();
  exchange->reply({.body = json.take()});
}

void handle_flush_cache(ServerContext& context, const ExchangePtr& exchange) {
  auto flushed = context.engine.flush_cache();
  const bool done = flushed.wait_for(kEnginePatience) == std::future_status::ready && flushed.get();
  exchange->reply({.status = done ? 200 : 400,
                   .content_type = "text/plain; charset=utf-8",
                   .body = "Cache flushed.\nPlease check backend logs for more details. (When "
                           "there are running or waiting requests, the operation will not be "
                           "performed.)\n"});
}

void handle_check_integrity(ServerContext& context, const ExchangePtr& exchange) {
  auto check = context.engine.check_integrity();
  const bool came = check.wait_for(kEnginePatience) == std::future_status::ready;
  const std::string broken = came ? check.get() : "the engine did not answer within 10 s";
  JsonWriter json;
  json.begin_object();
  json.field("sound", broken.empty()).field("broken", broken).end_object();
  exchange->reply({.status = broken.empty() ? 200 : 500, .body = json.take()});
}

void handle_abort_request(ServerContext& context, const ExchangePtr& exchange) {
  const auto body = parse_json_object(exchange->request().body);
  if (!body) return exchange->reply(error_reply(ErrorStyle::kNative, body.refusal()));
  std::optional<Refusal> fault;
  Fields fields(*body, "body", fault);
  const bool all = fields.boolean("abort_all").value_or(false);
  const std::string id = fields.string("rid").value_or("");
  if (!all && id.empty()) fields.refuse("body.rid: Field required (or abort_all)");
  if (fault) return exchange->reply(error_reply(ErrorStyle::kNative, *fault));
  if (all)
    context.engine.abort_all();
  else
    context.engine.abort(id);
  exchange->reply({.content_type = "text/plain; charset=utf-8"});
}

void handle_metrics(ServerContext& context, const ExchangePtr& exchange) {
  exchange->reply({.content_type = "text/plain; version=0.0.4; charset=utf-8",
                   .body = context.metrics.page(context.engine.stats())});
}

}  // namespace foretoken
