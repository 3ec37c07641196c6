#include "server/routes/openai/chat_format.h"

#include <utility>

#include "server/request/told_drafts.h"

namespace foretoken {
namespace {

constexpr const char* kChunk = "chat.completion.chunk";

void write_or_null(JsonWriter& json, std::string_view name,
                   const std::optional<std::string_view>& text) {
  if (text)
    json.field(name, *text);
  else
    json.field_null(name);
}

}  // namespace

void ChatFormat::write_logprobs(JsonWriter& json, const RunningChoice& choice,
                                std::size_t from) const {
  if (!choice.sampling.wants_logprobs()) {
    json.null();
    return;
  }
  const auto& tokens = choice.choice.tokens();
  json.begin_object().key("content").begin_array();
  for (std::size_t i = from; i < tokens.size(); ++i)
    write_logprob(json, *context_.tokenizer, tokens[i]);
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
  write_or_null(json, "content", delta.content);
  write_or_null(json, "reasoning_content", delta.reasoning);
  if (!delta.call) {
    json.field_null("tool_calls");
  } else {
    json.key("tool_calls").begin_array().begin_object().field("index", delta.call_index);
    const AnswerPart& part = delta.call->part;
    if (delta.call->opens) json.field("id", part.id).field("type", "function");
    json.key("function").begin_object();
    if (delta.call->opens) json.field("name", part.name);
    json.field("arguments", delta.call->text).end_object().end_object().end_array();
  }
  if (delta.with_finish) write_hidden_state(json, choice);
  json.end_object().key("logprobs");
  if (delta.with_tokens && choice.sampling.wants_logprobs())
    write_logprobs(json, choice, choice.shown_tokens);
  else
    json.null();
  if (delta.with_finish)
    write_finish(json, choice, context_, choice.choice.traces().size());
  else
    json.field_null("finish_reason").field_null("matched_stop");
  if (delta.with_tokens) write_new_steps(json, choice, context_);
  if (delta.role != nullptr) write_prompt_ids(json, choice);
  if (delta.with_tokens) write_token_ids(json, common_, choice, choice.shown_tokens);
  if (delta.with_finish) write_meta_info(json, context_, common_, choice);
  json.end_object().end_array();
  write_chunk_usage(json, common_, choice, context_.config);
  json.end_object();
  return json.take();
}

// One chunk for what is new of each part. What is told of all new tokens goes with the first of
// them, and with the end of the choice.
void ChatFormat::write_news(const RunningChoice& choice, std::string& out) {
  Progress& progress = progress_[static_cast<std::size_t>(choice.index)];
  bool tells_tokens =
      has_new_steps(choice) || ((choice.sampling.wants_logprobs() || common_.token_ids) &&
                                choice.shown_tokens < choice.choice.tokens().size());
  const auto write = [&](Delta delta) {
    delta.with_tokens = std::exchange(tells_tokens, false);
    append_event(out, chunk(choice, delta));
  };
  const AnswerParts& parts = choice.choice.parts();
  const auto& list = parts.list();
  const bool ends = choice.choice.is_finished();
  // Reasoning that is not streamed is shown when it is whole.
  const bool waits = !stream_reasoning_ && !ends && !list.empty() &&
                     list.back().kind == AnswerPart::Kind::kReasoning;
  if (!waits || progress.shown.part + 1 < list.size()) {
    progress.shown.advance(parts, ends, [&](const PartCursor::News& news) {
      if (waits && news.index + 1 == list.size()) return;
      switch (news.part.kind) {
        case AnswerPart::Kind::kText:
          if (!news.text.empty()) write({.content = news.text});
          return;
        case AnswerPart::Kind::kReasoning:
          if (!news.text.empty()) write({.reasoning = news.text});
          return;
        case AnswerPart::Kind::kCall:
          if (news.opens) ++progress.calls;
          if (news.opens || !news.text.empty())
            write({.call = news, .call_index = progress.calls - 1});
          return;
      }
    });
    // What waits is shown from its beginning.
    if (waits) progress.shown = {.part = list.size() - 1, .byte = 0, .opened = false};
  }
  if (tells_tokens) write({.content = std::string_view()});
}

void ChatFormat::write_event(const RunningChoice& choice, std::string& out) {
  const auto at = static_cast<std::size_t>(choice.index);
  if (progress_.size() <= at) progress_.resize(at + 1);
  if (!choice.opened)
    append_event(out, chunk(choice, {.role = "assistant", .content = std::string_view()}));
  write_news(choice, out);
  if (!choice.choice.is_finished() || write_failure_event(choice.choice, out)) return;
  append_event(out, chunk(choice, {.with_finish = true}));
}

void ChatFormat::write_ending(const std::vector<RunningChoice>& choices, std::string& out) {
  if (common_.cached_details) append_event(out, extension_chunk(common_, kChunk, choices));
  if (common_.include_usage)
    append_event(out, usage_chunk(common_, kChunk, choices, context_.config));
}

void ChatFormat::write_message(JsonWriter& json, const RunningChoice& choice) const {
  const auto& parts = choice.choice.parts().list();
  std::string content, reasoning;
  for (const AnswerPart& part : parts) {
    if (part.kind == AnswerPart::Kind::kText) content += part.text;
    if (part.kind == AnswerPart::Kind::kReasoning) reasoning += part.text;
  }
  const bool has_calls = choice.choice.parts().calls() > 0;
  json.begin_object().field("role", "assistant");
  if (content.empty() && (has_calls || !reasoning.empty()))
    json.field_null("content");
  else
    json.field("content", content);
  if (reasoning.empty())
    json.field_null("reasoning_content");
  else
    json.field("reasoning_content", reasoning);
  json.key("tool_calls");
  if (!has_calls) {
    json.null().end_object();
    return;
  }
  json.begin_array();
  int index = 0;
  for (const AnswerPart& part : parts) {
    if (part.kind != AnswerPart::Kind::kCall) continue;
    json.begin_object().field("id", part.id).field("index", index++).field("type", "function");
    json.key("function").begin_object().field("name", part.name).field("arguments", part.text);
    json.end_object().end_object();
  }
  json.end_array().end_object();
}

HttpReply ChatFormat::whole(const std::vector<RunningChoice>& choices) {
  JsonWriter json;
  json.begin_object();
  write_opening(json, common_, "chat.completion");
  json.key("choices").begin_array();
  for (const RunningChoice& choice : choices) {
    json.begin_object().field("index", choice.index);
    json.key("message");
    write_message(json, choice);
    json.key("logprobs");
    write_logprobs(json, choice, 0);
    write_finish(json, choice, context_);
    write_prompt_ids(json, choice);
    write_token_ids(json, common_, choice, 0);
    write_meta_info(json, context_, common_, choice);
    write_hidden_state(json, choice);
    json.end_object();
  }
  json.end_array();
  write_closing(json, common_, choices, context_);
  return {.body = json.take()};
}

}  // namespace foretoken
