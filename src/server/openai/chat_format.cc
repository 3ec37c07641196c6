#include "server/openai/chat_format.h"

#include "text/utf8.h"

namespace foretoken {
namespace {

constexpr const char* kChunk = "chat.completion.chunk";

}  // namespace

// token, bytes, logprob: the members shared by a token and its alternatives.
void ChatFormat::write_token(JsonWriter& json, Token token, float logprob) const {
  const std::string_view piece = context_.tokenizer->piece(token);
  json.field("token", lossy_utf8(piece));
  json.key("bytes").begin_array();
  for (const char byte : piece) json.integer(static_cast<unsigned char>(byte));
  json.end_array();
  json.field("logprob", shown_logprob(logprob));
}

void ChatFormat::write_logprobs(JsonWriter& json, const RunningChoice& choice,
                                std::size_t from) const {
  if (!choice.sampling.wants_logprobs()) {
    json.null();
    return;
  }
  const auto& tokens = choice.choice.tokens();
  json.begin_object().key("content").begin_array();
  for (std::size_t i = from; i < tokens.size(); ++i) {
    json.begin_object();
    write_token(json, tokens[i].token, tokens[i].logprob);
    json.key("top_logprobs").begin_array();
    for (const TopLogprob& top : tokens[i].top) {
      json.begin_object();
      write_token(json, top.token, top.logprob);
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().end_object();
}

std::string ChatFormat::chunk(const RunningChoice& choice, const Delta& delta) const {
  JsonWriter json;
  json.begin_object();
  write_opening(json, common_, kChunk);
  json.key("choices").begin_array().begin_object().field("index", choice.index);
  json.key("delta").begin_object();
  if (delta.role != nullptr)
    json.field("role", delta.role);
  else
    json.field_null("role");
  if (delta.content != nullptr)
    json.field("content", *delta.content);
  else
    json.field_null("content");
  json.field_null("reasoning_content").field_null("tool_calls").end_object();
  json.key("logprobs");
  if (delta.with_logprobs)
    write_logprobs(json, choice, choice.shown_tokens);
  else
    json.null();
  if (delta.with_finish)
    write_finish(json, choice, context_.config);
  else
    json.field_null("finish_reason").field_null("matched_stop");
  json.end_object().end_array();
  write_chunk_usage(json, common_, choice, context_.config);
  json.end_object();
  return json.take();
}

void ChatFormat::write_event(const RunningChoice& choice, std::string& out) {
  static const std::string kNothing;
  if (!choice.opened) append_event(out, chunk(choice, {.role = "assistant", .content = &kNothing}));
  const std::string text = choice.choice.text().substr(choice.shown_text);
  const bool logprobs =
      choice.sampling.wants_logprobs() && choice.shown_tokens < choice.choice.tokens().size();
  if (!text.empty() || logprobs)
    append_event(out, chunk(choice, {.content = &text, .with_logprobs = logprobs}));
  if (!choice.choice.is_finished() || write_failure_event(choice.choice, out)) return;
  append_event(out, chunk(choice, {.with_finish = true}));
}

void ChatFormat::write_ending(const std::vector<RunningChoice>& choices, std::string& out) {
  if (common_.include_usage)
    append_event(out, usage_chunk(common_, kChunk, choices, context_.config));
}

HttpReply ChatFormat::whole(const std::vector<RunningChoice>& choices) {
  JsonWriter json;
  json.begin_object();
  write_opening(json, common_, "chat.completion");
  json.key("choices").begin_array();
  for (const RunningChoice& choice : choices) {
    json.begin_object().field("index", choice.index);
    json.key("message").begin_object();
    json.field("role", "assistant").field("content", choice.choice.text());
    json.field_null("reasoning_content").field_null("tool_calls").end_object();
    json.key("logprobs");
    write_logprobs(json, choice, 0);
    write_finish(json, choice, context_.config);
    json.end_object();
  }
  json.end_array();
  write_closing(json, choices, context_.config);
  return {.body = json.take()};
}

}  // namespace foretoken
