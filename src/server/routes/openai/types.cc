#include "server/routes/openai/types.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "server/request/body_fields.h"
#include "server/request/draft_wish.h"
#include "server/request/meta_info.h"
#include "server/request/priority.h"
#include "server/request/sampling_request.h"
#include "server/request/session_params.h"
#include "server/request/told_drafts.h"
#include "text/utf8.h"

namespace foretoken {
namespace {

void write_token(JsonWriter& json, const Tokenizer& tokenizer, Token token, float logprob) {
  const std::string_view piece = tokenizer.piece(token);
  json.field("token", lossy_utf8(piece));
  json.key("bytes").begin_array();
  for (const char byte : piece) json.integer(static_cast<unsigned char>(byte));
  json.end_array();
  json.field("logprob", shown_logprob(logprob));
}

}  // namespace

void write_logprob(JsonWriter& json, const Tokenizer& tokenizer, const SampledToken& token) {
  json.begin_object();
  write_token(json, tokenizer, token.token, token.logprob);
  json.key("top_logprobs").begin_array();
  for (const TopLogprob& top : token.top) {
    json.begin_object();
    write_token(json, tokenizer, top.token, top.logprob);
    json.end_object();
  }
  json.end_array().end_object();
}

OpenAiCommon read_openai_common(Fields& fields, ServerContext& context, BodyKind kind,
                                AskedPrompt& prompt) {
  OpenAiCommon out;
  check_known_fields(fields, kind, context.unknown_fields);
  out.created = static_cast<std::int64_t>(std::time(nullptr));
  out.model = fields.string("model").value_or(context.config.served_model_name);
  out.stream = fields.boolean("stream").value_or(false);
  out.include_usage = context.config.stream_include_usage;
  if (const auto* options = fields.object("stream_options")) {
    Fields inner(*options, fields.path() + ".stream_options", fields.fault());
    out.include_usage = inner.boolean("include_usage").value_or(out.include_usage);
    out.continuous_usage = inner.boolean("continuous_usage_stats").value_or(false);
  }
  out.id = fields.string("rid").value_or("");
  check_request_id(fields, out.id);
  if (out.id.empty()) out.id = new_request_id();
  prompt.id = out.id;
  read_openai_sampling(fields, context.config, prompt);
  if (const auto best_of = fields.integer("best_of"); best_of && *best_of != prompt.n)
    fields.refuse("best_of other than n is not supported: ask for n choices and pick");
  prompt.draft_wish = read_draft_wish(fields, context.config);
  out.token_ids = fields.boolean("return_token_ids").value_or(false);
  out.meta_info = fields.boolean("return_meta_info").value_or(false);
  out.cached_details = fields.boolean("return_cached_tokens_details").value_or(false);
  // Completions have one flag for both, and maybe a salt for each prompt.
  const bool completes = kind == BodyKind::kCompletion;
  prompt.shows_prompt_ids =
      completes ? out.token_ids : fields.boolean("return_prompt_token_ids").value_or(false);
  if (!completes) prompt.cache_salt = read_cache_salt(fields);
  prompt.deadline = read_deadline(fields, context.config);
  prompt.rank = read_rank(fields, context.config);
  prompt.session = read_session_params(fields);
  prompt.hidden = read_hidden_wish(fields, context.config, HiddenWish::kLast);
  return out;
}

void Usage::add(const RunningChoice& choice) {
  if (choice.first_of_prompt) {
    prompt_tokens += choice.prompt_tokens;
    cached_tokens += choice.choice.counters().cached_tokens;
  }
  const auto tokens = static_cast<std::int64_t>(choice.choice.tokens().size());
  completion_tokens += tokens;
  reasoning_tokens += choice.choice.reasoning_tokens();
  if (!choice.has_prediction) return;
  const TokenDelta& counters = choice.choice.counters();
  has_prediction = true;
  // A stop string may have cut some of them off.
  const DraftTally& drafts = counters.drafts.predictions;
  accepted_prediction_tokens += std::min<std::int64_t>(drafts.accepted, tokens);
  rejected_prediction_tokens += drafts.proposed - drafts.accepted;
}

Usage usage_of(const std::vector<RunningChoice>& choices) {
  Usage usage;
  for (const auto& choice : choices) usage.add(choice);
  return usage;
}

void write_usage(JsonWriter& json, const Usage& usage, const ServerConfig& config) {
  json.begin_object();
  json.field("prompt_tokens", usage.prompt_tokens);
  json.field("total_tokens", usage.prompt_tokens + usage.completion_tokens);
  json.field("completion_tokens", usage.completion_tokens);
  json.key("prompt_tokens_details");
  if (config.enable_cache_report)
    json.begin_object().field("cached_tokens", usage.cached_tokens).end_object();
  else
    json.null();
  if (usage.has_prediction || usage.reasoning_tokens > 0) {
    json.key("completion_tokens_details").begin_object();
    if (usage.has_prediction) {
      json.field("accepted_prediction_tokens", usage.accepted_prediction_tokens);
      json.field("rejected_prediction_tokens", usage.rejected_prediction_tokens);
    }
    json.field("reasoning_tokens", usage.reasoning_tokens).end_object();
  }
  json.field("reasoning_tokens", usage.reasoning_tokens);
  json.end_object();
}

void write_chunk_usage(JsonWriter& json, const OpenAiCommon& common, const RunningChoice& choice,
                       const ServerConfig& config) {
  json.key("usage");
  if (!common.continuous_usage) {
    json.null();
    return;
  }
  Usage usage;
  usage.add(choice);
  usage.prompt_tokens = choice.prompt_tokens;
  write_usage(json, usage, config);
}

void write_finish(JsonWriter& json, const RunningChoice& choice, const ServerContext& context,
                  std::size_t first_step) {
  const auto& end = choice.choice.end();
  if (!end) {
    json.field_null("finish_reason").field_null("matched_stop");
    return;
  }
  switch (end->kind) {
    case ChoiceEnd::Kind::kStop:
      json.field("finish_reason", choice.choice.parts().calls() > 0 ? "tool_calls" : "stop");
      break;
    case ChoiceEnd::Kind::kLength:
      json.field("finish_reason", "length");
      break;
    case ChoiceEnd::Kind::kAbort:
      json.field("finish_reason", "abort");
      break;
  }
  if (end->matched_text)
    json.field("matched_stop", *end->matched_text);
  else if (end->matched_token)
    json.field("matched_stop", *end->matched_token);
  else
    json.field_null("matched_stop");
  write_drafts(json, choice, context, first_step);
}

void write_drafts(JsonWriter& json, const RunningChoice& choice, const ServerContext& context,
                  std::size_t from) {
  if (!choice.reports_drafts || !choice.choice.is_finished()) return;
  json.key("speculative");
  write_draft_report(json, choice, from, context);
}

void write_opening(JsonWriter& json, const OpenAiCommon& common, std::string_view object) {
  json.field("id", common.id).field("object", object);
  json.field("created", common.created).field("model", common.model);
}

void write_token_ids(JsonWriter& json, const OpenAiCommon& common, const RunningChoice& choice,
                     std::size_t from) {
  if (!common.token_ids) return;
  const auto& tokens = choice.choice.tokens();
  json.key("token_ids").begin_array();
  for (std::size_t i = from; i < tokens.size(); ++i) json.integer(tokens[i].token);
  json.end_array();
}

void write_meta_info(JsonWriter& json, const ServerContext& context, const OpenAiCommon& common,
                     const RunningChoice& choice) {
  if (!common.meta_info || !choice.choice.is_finished()) return;
  json.key("meta_info");
  MetaInfo(context, false).write(json, choice);
}

void write_hidden_state(JsonWriter& json, const RunningChoice& choice) {
  const HiddenStates& hidden = choice.choice.hidden();
  if (hidden.wish() == HiddenWish::kNone || !choice.choice.is_finished()) return;
  json.key("hidden_states").begin_array();
  for (const HiddenState& state : hidden.all())
    for (const float value : state) json.number(value);
  json.end_array();
}

void write_extension(JsonWriter& json, const OpenAiCommon& common,
                     const std::vector<RunningChoice>& choices) {
  if (!common.cached_details) return;
  json.key("sglext").begin_object().key("cached_tokens_details").begin_object();
  json.field("device", choices.empty() ? 0 : choices.front().choice.counters().cached_tokens);
  json.field("host", 0).end_object().end_object();
}

std::string extension_chunk(const OpenAiCommon& common, std::string_view object,
                            const std::vector<RunningChoice>& choices) {
  JsonWriter json;
  json.begin_object();
  write_opening(json, common, object);
  json.key("choices").begin_array().end_array();
  write_extension(json, common, choices);
  json.end_object();
  return json.take();
}

void write_closing(JsonWriter& json, const OpenAiCommon& common,
                   const std::vector<RunningChoice>& choices, const ServerContext& context) {
  json.key("usage");
  write_usage(json, usage_of(choices), context.config);
  json.key("metadata").begin_object();
  json.field("weight_version", context.weight_version.get()).end_object();
  write_extension(json, common, choices);
  json.end_object();
}

std::string usage_chunk(const OpenAiCommon& common, std::string_view object,
                        const std::vector<RunningChoice>& choices, const ServerConfig& config) {
  JsonWriter json;
  json.begin_object();
  write_opening(json, common, object);
  json.key("choices").begin_array().end_array();
  json.key("usage");
  write_usage(json, usage_of(choices), config);
  json.end_object();
  return json.take();
}

bool write_failure_event(const Choice& choice, std::string& out) {
  const auto& end = choice.end();
  if (!end || end->kind != ChoiceEnd::Kind::kAbort || end->status == 0) return false;
  JsonWriter json;
  json.begin_object().key("error").begin_object();
  json.field("message", end->message).field("type", "internal_error").field_null("param");
  json.field("code", end->status);
  json.end_object().end_object();
  append_event(out, json.text());
  return true;
}

float shown_logprob(float logprob) { return std::isfinite(logprob) ? logprob : -9999.0F; }

}  // namespace foretoken
