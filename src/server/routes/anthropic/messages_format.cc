#include "server/routes/anthropic/messages_format.h"

#include "base/json_text.h"

namespace foretoken {
namespace {

void write_stop(JsonWriter& json, const Choice& choice) {
  const auto& end = choice.end();
  if (!end) {
    json.field_null("stop_reason").field_null("stop_sequence");
    return;
  }
  const char* reason = "end_turn";
  if (end->matched_text)
    reason = "stop_sequence";
  else if (end->kind == ChoiceEnd::Kind::kLength)
    reason = "max_tokens";
  else if (end->kind == ChoiceEnd::Kind::kAbort)
    reason = "pause_turn";  // somebody ended it; it may be continued
  else if (choice.parts().calls() > 0)
    reason = "tool_use";
  json.field("stop_reason", reason);
  if (end->matched_text)
    json.field("stop_sequence", *end->matched_text);
  else
    json.field_null("stop_sequence");
}

// A call that a limit cut off has no whole input.
std::string_view input_of(const AnswerPart& part) {
  JsonFault fault;
  const auto value = parse_json(part.text, fault);
  return value && value->is_object() ? std::string_view(part.text) : std::string_view("{}");
}

// The content block of a part, with its text or (of a stream) without.
void write_block(JsonWriter& json, const AnswerPart& part, bool with_text) {
  const std::string_view text = with_text ? std::string_view(part.text) : std::string_view();
  json.begin_object();
  switch (part.kind) {
    case AnswerPart::Kind::kText:
      json.field("type", "text").field("text", text);
      break;
    case AnswerPart::Kind::kReasoning:
      json.field("type", "thinking").field("thinking", text).field("signature", "");
      break;
    case AnswerPart::Kind::kCall:
      json.field("type", "tool_use").field("id", part.id).field("name", part.name);
      json.key("input").raw(with_text ? input_of(part) : "{}");
      break;
  }
  json.end_object();
}

void write_delta(JsonWriter& json, AnswerPart::Kind kind, std::string_view text) {
  json.begin_object();
  switch (kind) {
    case AnswerPart::Kind::kText:
      json.field("type", "text_delta").field("text", text);
      break;
    case AnswerPart::Kind::kReasoning:
      json.field("type", "thinking_delta").field("thinking", text);
      break;
    case AnswerPart::Kind::kCall:
      json.field("type", "input_json_delta").field("partial_json", text);
      break;
  }
  json.end_object();
}

}  // namespace

void MessagesFormat::write_opening(JsonWriter& json) const {
  json.field("id", "msg_" + common_.id).field("type", "message").field("role", "assistant");
  json.field("model", common_.model);
}

void MessagesFormat::write_usage(JsonWriter& json, const RunningChoice& choice) const {
  Usage usage;
  usage.add(choice);
  const std::int64_t cached = context_.config.enable_cache_report ? usage.cached_tokens : 0;
  json.begin_object().field("input_tokens", usage.prompt_tokens - cached);
  json.field("cache_creation_input_tokens", 0).field("cache_read_input_tokens", cached);
  json.field("output_tokens", usage.completion_tokens).end_object();
}

void MessagesFormat::write_part(const PartCursor::News& news, std::string& out) const {
  const auto event = [&](const char* name, auto write) {
    JsonWriter json;
    json.begin_object().field("type", name).field("index", news.index);
    write(json);
    json.end_object();
    append_named_event(out, name, json.text());
  };
  if (news.opens)
    event("content_block_start", [&](JsonWriter& json) {
      json.key("content_block");
      write_block(json, news.part, false);
    });
  if (!news.text.empty())
    event("content_block_delta", [&](JsonWriter& json) {
      json.key("delta");
      write_delta(json, news.part.kind, news.text);
    });
  if (news.closes) event("content_block_stop", [](JsonWriter&) {});
}

void MessagesFormat::write_end(const RunningChoice& choice, std::string& out) const {
  const ChoiceEnd& end = *choice.choice.end();
  if (end.kind == ChoiceEnd::Kind::kAbort && end.status != 0)
    return append_named_event(out, "error",
                              error_json(ErrorStyle::kAnthropic, {end.message, end.status}));
  JsonWriter json;
  json.begin_object().field("type", "message_delta").key("delta").begin_object();
  write_stop(json, choice.choice);
  json.end_object().key("usage");
  write_usage(json, choice);
  write_drafts(json, choice, context_);
  json.end_object();
  append_named_event(out, "message_delta", json.text());
  append_named_event(out, "message_stop", R"({"type":"message_stop"})");
}

void MessagesFormat::write_event(const RunningChoice& choice, std::string& out) {
  if (!choice.opened) {
    JsonWriter json;
    json.begin_object().field("type", "message_start").key("message").begin_object();
    write_opening(json);
    json.key("content").begin_array().end_array();
    json.field_null("stop_reason").field_null("stop_sequence").key("usage");
    write_usage(json, choice);
    json.end_object().end_object();
    append_named_event(out, "message_start", json.text());
  }
  shown_.advance(choice.choice.parts(), choice.choice.is_finished(),
                 [&](const PartCursor::News& news) { write_part(news, out); });
  if (choice.choice.is_finished()) write_end(choice, out);
}

HttpReply MessagesFormat::whole(const std::vector<RunningChoice>& choices) {
  const RunningChoice& choice = choices.front();
  JsonWriter json;
  json.begin_object();
  write_opening(json);
  json.key("content").begin_array();
  for (const AnswerPart& part : choice.choice.parts().list()) write_block(json, part, true);
  json.end_array();
  write_stop(json, choice.choice);
  json.key("usage");
  write_usage(json, choice);
  write_drafts(json, choice, context_);
  json.end_object();
  return {.body = json.take()};
}

}  // namespace foretoken
