#include "server/request/meta_info.h"

#include <algorithm>
#include <cmath>

#include "server/request/told_drafts.h"
#include "text/utf8.h"

namespace foretoken {
namespace {

void write_numbers(JsonWriter& json, const HiddenState& state) {
  for (const float value : state) json.number(value);
}

void write_state(JsonWriter& json, const HiddenState& state) {
  json.begin_array();
  write_numbers(json, state);
  json.end_array();
}

}  // namespace

// [logprob, id, text or null]
void MetaInfo::write_triple(JsonWriter& json, float logprob, Token token) const {
  json.begin_array().number(logprob).integer(token);
  if (text_in_logprobs_ && context_.tokenizer != nullptr)
    json.string(lossy_utf8(context_.tokenizer->piece(token)));
  else
    json.null();
  json.end_array();
}

void MetaInfo::write_tops(JsonWriter& json, const std::vector<SampledToken>& tokens,
                          std::size_t from) const {
  json.begin_array();
  for (std::size_t i = from; i < tokens.size(); ++i) {
    if (std::isnan(tokens[i].logprob)) {  // the first token of a prompt has none
      json.null();
      continue;
    }
    json.begin_array();
    for (const TopLogprob& top : tokens[i].top) write_triple(json, top.logprob, top.token);
    json.end_array();
  }
  json.end_array();
}

// Logprobs of the ids in token_ids_logprob.
void MetaInfo::write_wanted(JsonWriter& json, const RunningChoice& choice,
                            const std::vector<SampledToken>& tokens, std::size_t from) const {
  const auto& ids = choice.sampling.logprob_tokens;
  json.begin_array();
  for (std::size_t i = from; i < tokens.size(); ++i) {
    if (tokens[i].token_logprobs.size() != ids.size()) {
      json.null();
      continue;
    }
    json.begin_array();
    for (std::size_t k = 0; k < ids.size(); ++k)
      write_triple(json, tokens[i].token_logprobs[k], ids[k]);
    json.end_array();
  }
  json.end_array();
}

void MetaInfo::write_logprobs(JsonWriter& json, const RunningChoice& choice) const {
  if (!choice.sampling.wants_logprobs()) return;
  const auto& scores = choice.choice.prompt_scores();
  const auto& tokens = choice.choice.tokens();
  const std::size_t from = context_.config.incremental_streaming_output ? choice.shown_tokens : 0;
  json.key("input_token_logprobs").begin_array();
  for (const SampledToken& token : scores) write_triple(json, token.logprob, token.token);
  json.end_array();
  json.key("output_token_logprobs").begin_array();
  for (std::size_t i = from; i < tokens.size(); ++i)
    write_triple(json, tokens[i].logprob, tokens[i].token);
  json.end_array();
  json.field("output_token_logprobs_length", tokens.size());
  if (choice.sampling.top_logprobs > 0) {
    json.key("input_top_logprobs");
    write_tops(json, scores, 0);
    json.key("output_top_logprobs");
    write_tops(json, tokens, from);
  }
  if (!choice.sampling.logprob_tokens.empty()) {
    json.key("input_token_ids_logprobs");
    write_wanted(json, choice, scores, 0);
    json.key("output_token_ids_logprobs");
    write_wanted(json, choice, tokens, from);
  }
}

void MetaInfo::write_finish(JsonWriter& json, const RunningChoice& choice) const {
  const auto& end = choice.choice.end();
  if (!end) {
    json.null();
    return;
  }
  json.begin_object();
  switch (end->kind) {
    case ChoiceEnd::Kind::kStop:
      json.field("type", "stop").key("matched");
      if (end->matched_text)
        json.string(*end->matched_text);
      else if (end->matched_token)
        json.integer(*end->matched_token);
      else
        json.null();
      break;
    case ChoiceEnd::Kind::kLength:
      json.field("type", "length").field("length", choice.choice.tokens().size());
      break;
    case ChoiceEnd::Kind::kAbort:
      json.field("type", "abort").field("message", end->message);
      json.key("status_code");
      if (end->status == 0)
        json.null();
      else
        json.integer(end->status);
      json.key("err_type");
      if (end->status == 0)
        json.null();
      else
        json.string(end->status == 503   ? "ServiceUnavailableError"
                    : end->status == 400 ? "BadRequestError"
                                         : "InternalServerError");
      break;
  }
  json.end_object();
}

// Only in the final object of a server that drafts, even where no draft was worth its cost. New and
// older names.
void MetaInfo::write_spec(JsonWriter& json, const RunningChoice& choice) const {
  const TokenDelta& counters = choice.choice.counters();
  if (counters.verify_steps == 0 || context_.config.draft_nodes == 0) return;
  const double rounds = counters.verify_steps;
  json.field("spec_verify_ct", counters.verify_steps);
  json.field("spec_accept_length", static_cast<double>(choice.choice.tokens().size()) / rounds);
  json.field("spec_accept_rate", static_cast<double>(counters.accepted_drafts) /
                                     std::max(1.0, static_cast<double>(counters.proposed_drafts)));
  for (const char* name :
       {"spec_num_correct_drafts", "spec_accepted_drafts", "spec_accept_token_num"})
    json.field(name, counters.accepted_drafts);
  for (const char* name :
       {"spec_num_proposed_drafts", "spec_proposed_drafts", "spec_draft_token_num"})
    json.field(name, counters.proposed_drafts);
  for (const char* name : {"spec_correct_drafts_histogram", "spec_accept_histogram"}) {
    json.key(name).begin_array();
    for (const int rounds_of : counters.accept_histogram) json.integer(rounds_of);
    json.end_array();
  }
}

// All: the states of the prompt as a list, then each of the output. Where the choice is complete.
void MetaInfo::write_hidden(JsonWriter& json, const RunningChoice& choice) const {
  const HiddenStates& hidden = choice.choice.hidden();
  if (hidden.wish() == HiddenWish::kNone || !choice.choice.is_finished()) return;
  json.key("hidden_states").begin_array();
  if (hidden.wish() == HiddenWish::kLast) {
    if (!hidden.all().empty()) write_numbers(json, hidden.all().front());
  } else {
    const auto prompt =
        std::min(static_cast<std::size_t>(choice.prompt_tokens), hidden.all().size());
    json.begin_array();
    for (std::size_t i = 0; i < prompt; ++i) write_state(json, hidden.all()[i]);
    json.end_array();
    for (std::size_t i = prompt; i < hidden.all().size(); ++i) write_state(json, hidden.all()[i]);
  }
  json.end_array();
}

void MetaInfo::write(JsonWriter& json, const RunningChoice& choice) const {
  json.begin_object().field("id", choice.id);
  json.key("finish_reason");
  write_finish(json, choice);
  json.field("prompt_tokens", choice.prompt_tokens);
  json.field("weight_version", context_.weight_version.get());
  json.field("total_retractions", choice.choice.counters().retractions);
  write_logprobs(json, choice);
  json.field("completion_tokens", choice.choice.tokens().size());
  json.field("cached_tokens", choice.choice.counters().cached_tokens);
  json.field("reasoning_tokens", choice.choice.reasoning_tokens());
  json.field_null("dp_rank");
  write_hidden(json, choice);
  if (choice.choice.is_finished()) {
    json.field("e2e_latency", choice.seconds);
    write_spec(json, choice);
    if (choice.reports_drafts) {
      json.key("speculative");
      write_draft_report(json, choice, 0, context_);
    }
  }
  json.end_object();
}

}  // namespace foretoken
