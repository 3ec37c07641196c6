#include "server/request/told_drafts.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

#include "text/utf8.h"

namespace foretoken {
namespace {

void write_by_depth(JsonWriter& json, const std::vector<int>& histogram) {
  // A step that accepted k drafts accepted one at each depth from 1 to k.
  json.key("accepted_by_depth").begin_array();
  for (std::size_t depth = 1; depth < histogram.size(); ++depth)
    json.integer(std::accumulate(histogram.begin() + static_cast<std::ptrdiff_t>(depth),
                                 histogram.end(), 0));
  json.end_array();
}

// Bytes only where the piece of a token is no text of its own, such as half a character.
void write_token(JsonWriter& json, Token token, const Tokenizer* tokenizer) {
  json.field("token", token);
  if (tokenizer == nullptr) return;
  const std::string_view piece = tokenizer->piece(token);
  json.field("text", lossy_utf8(piece));
  if (!is_valid_utf8(piece)) {
    json.key("bytes").begin_array();
    for (const char byte : piece) json.integer(static_cast<unsigned char>(byte));
    json.end_array();
  }
  if (tokenizer->is_special(token)) json.field("special", true);
}

void write_draft(JsonWriter& json, const TracedDraft& draft, bool is_accepted,
                 const ServerContext& context) {
  json.begin_object();
  write_token(json, draft.token, context.tokenizer);
  json.field("parent", draft.parent);
  json.key("drafters").begin_array();
  for (std::size_t i = 0; i < std::min(context.config.drafters.size(), kMostDrafters); ++i)
    if ((draft.drafters >> i & 1) != 0) json.string(context.config.drafters[i]);
  json.end_array();
  json.field("chance", draft.chance).field("accepted", is_accepted).end_object();
}

// output: of the step, its first token.
void write_step(JsonWriter& json, const DraftTrace& step, const SampledToken* output,
                const ServerContext& context) {
  json.begin_object().key("drafts").begin_array();
  for (std::size_t i = 0; i < step.drafts.size(); ++i)
    write_draft(
        json, step.drafts[i],
        std::ranges::find(step.accepted, static_cast<std::int32_t>(i)) != step.accepted.end(),
        context);
  json.end_array().key("output").begin_array();
  for (std::size_t i = 0; i < static_cast<std::size_t>(step.tokens); ++i) {
    json.begin_object();
    write_token(json, output[i].token, context.tokenizer);
    if (i < step.accepted.size())
      json.field("draft", step.accepted[i]);
    else
      json.field_null("draft");
    json.end_object();
  }
  json.end_array().end_object();
}

// "trace": the steps from `from` on.
void write_trace(JsonWriter& json, const Choice& choice, std::size_t from,
                 const ServerContext& context) {
  const auto& steps = choice.traces();
  std::size_t token = 0;  // the first that a step brought
  for (std::size_t i = 0; i < from; ++i) token += static_cast<std::size_t>(steps[i].tokens);
  json.key("trace").begin_array();
  for (std::size_t i = from; i < steps.size(); ++i) {
    write_step(json, steps[i], choice.tokens().data() + token, context);
    token += static_cast<std::size_t>(steps[i].tokens);
  }
  json.end_array();
}

}  // namespace

void write_draft_report(JsonWriter& json, const RunningChoice& choice, std::size_t from,
                        const ServerContext& context) {
  const TokenDelta& counters = choice.choice.counters();
  const auto& names = context.config.drafters;
  json.begin_object().key("drafters").begin_object();
  for (std::size_t i = 0; i < std::min(names.size(), kMostDrafters); ++i) {
    const DraftTally& tally = counters.drafts.by_drafter[i];
    json.key(names[i]).begin_object();
    json.field("proposed", tally.proposed).field("accepted", tally.accepted).end_object();
  }
  json.end_object();
  json.field("verify_steps", counters.verify_steps);
  write_by_depth(json, counters.accept_histogram);
  if (const auto reason = counters.drafts.reason(); !reason.empty())
    json.field("reason", reason);
  else
    json.field_null("reason");
  if (choice.tells_steps && from < choice.choice.traces().size())
    write_trace(json, choice.choice, from, context);
  json.end_object();
}

bool has_new_steps(const RunningChoice& choice) {
  return choice.tells_steps && choice.shown_steps < choice.choice.traces().size();
}

void write_new_steps(JsonWriter& json, const RunningChoice& choice, const ServerContext& context) {
  if (!has_new_steps(choice)) return;
  json.key("speculative").begin_object();
  write_trace(json, choice.choice, choice.shown_steps, context);
  json.end_object();
}

}  // namespace foretoken
