#include "server/routes/openai/responses_format.h"

#include <utility>

#include <boost/json/serialize.hpp>

namespace foretoken {
namespace {

std::string without_braces(const boost::json::object& object) {
  const std::string text = boost::json::serialize(object);
  return text.substr(1, text.size() - 2);
}

const char* kind_prefix(AnswerPart::Kind kind) {
  switch (kind) {
    case AnswerPart::Kind::kText:
      return "msg_";
    case AnswerPart::Kind::kReasoning:
      return "rs_";
    case AnswerPart::Kind::kCall:
      return "fc_";
  }
  return "";
}

// The content of an item of text or reasoning.
void write_content(JsonWriter& json, AnswerPart::Kind kind, std::string_view text) {
  json.begin_object();
  if (kind == AnswerPart::Kind::kReasoning) {
    json.field("type", "reasoning_text").field("text", text);
  } else {
    json.field("type", "output_text").field("text", text);
    json.key("annotations").begin_array().end_array();
    json.key("logprobs").begin_array().end_array();
  }
  json.end_object();
}

bool is_failure(const ChoiceEnd& end) {
  return end.kind == ChoiceEnd::Kind::kAbort && end.status != 0;
}

}  // namespace

ResponsesFormat::ResponsesFormat(const ServerContext& context, ChatAnswer answer,
                                 ResponseRequest request)
    : context_(context),
      common_(std::move(answer.common)),
      id_("resp_" + common_.id),
      echo_(without_braces(request.echo)),
      messages_(std::move(request.messages)) {}

std::string ResponsesFormat::item_id(const AnswerPart& part, std::size_t index) const {
  return kind_prefix(part.kind) + common_.id + "_" + std::to_string(index);
}

void ResponsesFormat::write_item(JsonWriter& json, const AnswerPart& part, std::size_t index,
                                 State state) const {
  const bool whole = state == State::kWhole;
  const char* status = whole ? "completed" : "in_progress";
  json.begin_object().field("id", item_id(part, index));
  switch (part.kind) {
    case AnswerPart::Kind::kText:
      json.field("type", "message").field("status", status).field("role", "assistant");
      json.key("content").begin_array();
      if (whole) write_content(json, part.kind, part.text);
      json.end_array();
      break;
    case AnswerPart::Kind::kReasoning:
      json.field("type", "reasoning").field("status", status);
      json.key("summary").begin_array().end_array().key("content").begin_array();
      if (whole) write_content(json, part.kind, part.text);
      json.end_array();
      break;
    case AnswerPart::Kind::kCall:
      json.field("type", "function_call").field("status", status).field("call_id", part.id);
      json.field("name", part.name).field("arguments", whole ? part.text : std::string());
      break;
  }
  json.end_object();
}

void ResponsesFormat::write_usage(JsonWriter& json, const RunningChoice& choice) const {
  Usage usage;
  usage.add(choice);
  const std::int64_t cached = context_.config.enable_cache_report ? usage.cached_tokens : 0;
  json.begin_object().field("input_tokens", usage.prompt_tokens);
  json.key("input_tokens_details").begin_object().field("cached_tokens", cached).end_object();
  json.field("output_tokens", usage.completion_tokens);
  json.key("output_tokens_details").begin_object();
  json.field("reasoning_tokens", usage.reasoning_tokens).end_object();
  json.field("total_tokens", usage.prompt_tokens + usage.completion_tokens).end_object();
}

void ResponsesFormat::write_response(JsonWriter& json, const RunningChoice& choice) const {
  const auto& end = choice.choice.end();
  const char* status = "in_progress";
  const char* why_incomplete = nullptr;
  if (end) {
    status = is_failure(*end) ? "failed" : "completed";
    if (end->kind == ChoiceEnd::Kind::kLength) why_incomplete = "max_output_tokens";
    if (end->kind == ChoiceEnd::Kind::kAbort && !is_failure(*end)) status = "cancelled";
    if (why_incomplete != nullptr) status = "incomplete";
  }
  json.begin_object().field("id", id_).field("object", "response");
  json.field("created_at", common_.created).field("status", status).field("model", common_.model);
  json.key("error");
  if (end && is_failure(*end))
    json.begin_object().field("code", "server_error").field("message", end->message).end_object();
  else
    json.null();
  json.key("incomplete_details");
  if (why_incomplete != nullptr)
    json.begin_object().field("reason", why_incomplete).end_object();
  else
    json.null();
  json.key("output").begin_array();
  if (end) {
    std::size_t index = 0;
    for (const AnswerPart& part : choice.choice.parts().list())
      write_item(json, part, index++, State::kWhole);
  }
  json.end_array().key("usage");
  if (end)
    write_usage(json, choice);
  else
    json.null();
  write_drafts(json, choice, context_.config);
  json.raw(echo_).end_object();
}

template <typename Write>
void ResponsesFormat::event(std::string& out, std::string_view type, Write write) {
  JsonWriter json;
  json.begin_object().field("type", type).field("sequence_number", sequence_++);
  write(json);
  json.end_object();
  append_named_event(out, type, json.text());
}

void ResponsesFormat::response_event(std::string& out, std::string_view type,
                                     const RunningChoice& choice) {
  event(out, type, [&](JsonWriter& json) {
    json.key("response");
    write_response(json, choice);
  });
}

void ResponsesFormat::open_part(const PartCursor::News& news, std::string& out) {
  event(out, "response.output_item.added", [&](JsonWriter& json) {
    json.field("output_index", news.index).key("item");
    write_item(json, news.part, news.index, State::kBegun);
  });
  if (news.part.kind != AnswerPart::Kind::kText) return;
  event(out, "response.content_part.added", [&](JsonWriter& json) {
    json.field("item_id", item_id(news.part, news.index)).field("output_index", news.index);
    json.field("content_index", 0).key("part");
    write_content(json, news.part.kind, "");
  });
}

void ResponsesFormat::close_part(const PartCursor::News& news, std::string& out) {
  const AnswerPart& part = news.part;
  const auto place = [&](JsonWriter& json) {
    json.field("item_id", item_id(part, news.index)).field("output_index", news.index);
    if (part.kind != AnswerPart::Kind::kCall) json.field("content_index", 0);
  };
  switch (part.kind) {
    case AnswerPart::Kind::kText:
      event(out, "response.output_text.done", [&](JsonWriter& json) {
        place(json);
        json.field("text", part.text).key("logprobs").begin_array().end_array();
      });
      event(out, "response.content_part.done", [&](JsonWriter& json) {
        place(json);
        json.key("part");
        write_content(json, part.kind, part.text);
      });
      break;
    case AnswerPart::Kind::kReasoning:
      event(out, "response.reasoning_text.done", [&](JsonWriter& json) {
        place(json);
        json.field("text", part.text);
      });
      break;
    case AnswerPart::Kind::kCall:
      event(out, "response.function_call_arguments.done", [&](JsonWriter& json) {
        place(json);
        json.field("name", part.name).field("arguments", part.text);
      });
      break;
  }
  event(out, "response.output_item.done", [&](JsonWriter& json) {
    json.field("output_index", news.index).key("item");
    write_item(json, part, news.index, State::kWhole);
  });
}

void ResponsesFormat::write_part(const PartCursor::News& news, std::string& out) {
  if (news.opens) open_part(news, out);
  if (!news.text.empty()) {
    const char* type = news.part.kind == AnswerPart::Kind::kText ? "response.output_text.delta"
                       : news.part.kind == AnswerPart::Kind::kReasoning
                           ? "response.reasoning_text.delta"
                           : "response.function_call_arguments.delta";
    event(out, type, [&](JsonWriter& json) {
      json.field("item_id", item_id(news.part, news.index)).field("output_index", news.index);
      if (news.part.kind != AnswerPart::Kind::kCall) json.field("content_index", 0);
      json.field("delta", news.text);
      if (news.part.kind == AnswerPart::Kind::kText) json.key("logprobs").begin_array().end_array();
    });
  }
  if (news.closes) close_part(news, out);
}

void ResponsesFormat::write_event(const RunningChoice& choice, std::string& out) {
  if (!choice.opened) {
    // The first two tell of a response that has only begun, however far it is by now.
    const auto begun = [&](std::string_view type) {
      event(out, type, [&](JsonWriter& json) {
        json.key("response").begin_object().field("id", id_).field("object", "response");
        json.field("created_at", common_.created).field("status", "in_progress");
        json.field("model", common_.model).field_null("error").field_null("incomplete_details");
        json.key("output").begin_array().end_array().field_null("usage");
        json.raw(echo_).end_object();
      });
    };
    begun("response.created");
    begun("response.in_progress");
  }
  shown_.advance(choice.choice.parts(), choice.choice.is_finished(),
                 [&](const PartCursor::News& news) { write_part(news, out); });
  if (!choice.choice.is_finished()) return;
  keep(choice);
  const ChoiceEnd& end = *choice.choice.end();
  response_event(out,
                 is_failure(end)                        ? "response.failed"
                 : end.kind == ChoiceEnd::Kind::kLength ? "response.incomplete"
                                                        : "response.completed",
                 choice);
}

// The conversation with this answer at its end.
void ResponsesFormat::keep(const RunningChoice& choice) const {
  if (messages_.empty() || is_failure(*choice.choice.end())) return;
  std::string content, reasoning;
  JsonWriter calls;
  calls.begin_array();
  for (const AnswerPart& part : choice.choice.parts().list()) {
    if (part.kind == AnswerPart::Kind::kText) content += part.text;
    if (part.kind == AnswerPart::Kind::kReasoning) reasoning += part.text;
    if (part.kind != AnswerPart::Kind::kCall) continue;
    calls.begin_object().field("id", part.id).field("type", "function").key("function");
    calls.begin_object().field("name", part.name).field("arguments", part.text);
    calls.end_object().end_object();
  }
  calls.end_array();
  JsonWriter message;
  message.begin_object().field("role", "assistant").field("content", content);
  if (!reasoning.empty()) message.field("reasoning_content", reasoning);
  if (choice.choice.parts().calls() > 0) message.key("tool_calls").raw(calls.text());
  message.end_object();
  std::string all = messages_.substr(0, messages_.size() - 1);
  if (all.size() > 1) all += ',';
  context_.responses->put(id_, all + message.text() + "]");
}

HttpReply ResponsesFormat::whole(const std::vector<RunningChoice>& choices) {
  keep(choices.front());
  JsonWriter json;
  write_response(json, choices.front());
  return {.body = json.take()};
}

}  // namespace foretoken
