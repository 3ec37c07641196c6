#include "server/routes/openai/responses_format.h"

#include <algorithm>
#include <utility>

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "base/json_text.h"

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

// Of a call of a custom tool; a call that was cut may be no whole JSON.
std::string input_of(const std::string& arguments) {
  JsonFault fault;
  const auto value = parse_json(arguments, fault);
  const auto* object = value ? value->if_object() : nullptr;
  const auto* input = object == nullptr ? nullptr : object->if_contains("input");
  return input != nullptr && input->is_string() ? std::string(input->get_string()) : arguments;
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
      messages_(std::move(request.messages)),
      custom_tools_(std::move(request.custom_tools)) {}

bool ResponsesFormat::is_custom(const AnswerPart& part) const {
  return part.kind == AnswerPart::Kind::kCall && custom_tools_.contains(part.name);
}

std::string ResponsesFormat::item_id(const AnswerPart& part, std::size_t index) const {
  return (is_custom(part) ? "ctc_" : kind_prefix(part.kind)) + common_.id + "_" +
         std::to_string(index);
}

void ResponsesFormat::write_logprobs(JsonWriter& json, const RunningChoice& choice,
                                     std::size_t index, std::size_t from, std::size_t to) {
  const Choice& output = choice.choice;
  const auto& list = output.parts().list();
  const bool is_first =
      std::all_of(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(index),
                  [](const AnswerPart& part) { return part.kind == AnswerPart::Kind::kReasoning; });
  json.begin_array();
  if (choice.sampling.wants_logprobs() && is_first && to > from) {
    if (!text_place_) {
      std::size_t place = output.text().find(list[index].text);
      while (place != std::string::npos && output.parts().is_reasoning(place))
        place = output.text().find(list[index].text, place + 1);
      text_place_ = place;
    }
    const auto& begins = output.text_begin();
    const auto at = [&](std::size_t byte) {
      return std::ranges::lower_bound(begins, *text_place_ + byte) - begins.begin();
    };
    if (*text_place_ != std::string::npos)
      for (auto i = at(from); i < at(to); ++i)
        write_logprob(json, *context_.tokenizer, output.tokens()[static_cast<std::size_t>(i)]);
  }
  json.end_array();
}

// The content of an item of text or reasoning.
void ResponsesFormat::write_content(JsonWriter& json, const RunningChoice& choice,
                                    std::size_t index, State state) {
  const AnswerPart& part = choice.choice.parts().list()[index];
  const std::string_view text = state == State::kWhole ? part.text : std::string_view();
  json.begin_object();
  if (part.kind == AnswerPart::Kind::kReasoning) {
    json.field("type", "reasoning_text").field("text", text);
  } else {
    json.field("type", "output_text").field("text", text);
    json.key("annotations").begin_array().end_array().key("logprobs");
    write_logprobs(json, choice, index, 0, text.size());
  }
  json.end_object();
}

void ResponsesFormat::write_call(JsonWriter& json, const AnswerPart& part, State state) const {
  const bool whole = state == State::kWhole;
  json.field("type", is_custom(part) ? "custom_tool_call" : "function_call");
  json.field("status", whole ? "completed" : "in_progress").field("call_id", part.id);
  json.field("name", part.name);
  if (is_custom(part))
    json.field("input", whole ? input_of(part.text) : std::string());
  else
    json.field("arguments", whole ? part.text : std::string());
}

void ResponsesFormat::write_item(JsonWriter& json, const RunningChoice& choice, std::size_t index,
                                 State state) {
  const AnswerPart& part = choice.choice.parts().list()[index];
  const bool whole = state == State::kWhole;
  json.begin_object().field("id", item_id(part, index));
  if (part.kind == AnswerPart::Kind::kCall) {
    write_call(json, part, state);
    json.end_object();
    return;
  }
  const bool is_text = part.kind == AnswerPart::Kind::kText;
  json.field("type", is_text ? "message" : "reasoning");
  json.field("status", whole ? "completed" : "in_progress");
  if (is_text)
    json.field("role", "assistant");
  else
    json.key("summary").begin_array().end_array();
  json.key("content").begin_array();
  if (whole) write_content(json, choice, index, state);
  json.end_array().end_object();
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

void ResponsesFormat::write_response(JsonWriter& json, const RunningChoice& choice) {
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
    for (std::size_t i = 0; i < choice.choice.parts().list().size(); ++i)
      write_item(json, choice, i, State::kWhole);
  }
  json.end_array().key("usage");
  if (end)
    write_usage(json, choice);
  else
    json.null();
  write_drafts(json, choice, context_);
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

void ResponsesFormat::open_part(const RunningChoice& choice, const PartCursor::News& news,
                                std::string& out) {
  event(out, "response.output_item.added", [&](JsonWriter& json) {
    json.field("output_index", news.index).key("item");
    write_item(json, choice, news.index, State::kBegun);
  });
  if (news.part.kind != AnswerPart::Kind::kText) return;
  event(out, "response.content_part.added", [&](JsonWriter& json) {
    json.field("item_id", item_id(news.part, news.index)).field("output_index", news.index);
    json.field("content_index", 0).key("part");
    write_content(json, choice, news.index, State::kBegun);
  });
}

void ResponsesFormat::close_call(const PartCursor::News& news, std::string& out) {
  const AnswerPart& part = news.part;
  const auto place = [&](JsonWriter& json) {
    json.field("item_id", item_id(part, news.index)).field("output_index", news.index);
  };
  if (!is_custom(part))
    return event(out, "response.function_call_arguments.done", [&](JsonWriter& json) {
      place(json);
      json.field("name", part.name).field("arguments", part.text);
    });
  // The input is known when its JSON is whole.
  const std::string input = input_of(part.text);
  for (const char* type :
       {"response.custom_tool_call_input.delta", "response.custom_tool_call_input.done"})
    event(out, type, [&](JsonWriter& json) {
      place(json);
      json.field(std::string_view(type).ends_with("delta") ? "delta" : "input", input);
    });
}

void ResponsesFormat::close_part(const RunningChoice& choice, const PartCursor::News& news,
                                 std::string& out) {
  const AnswerPart& part = news.part;
  const auto place = [&](JsonWriter& json) {
    json.field("item_id", item_id(part, news.index)).field("output_index", news.index);
    json.field("content_index", 0);
  };
  switch (part.kind) {
    case AnswerPart::Kind::kText:
      event(out, "response.output_text.done", [&](JsonWriter& json) {
        place(json);
        json.field("text", part.text).key("logprobs");
        write_logprobs(json, choice, news.index, 0, part.text.size());
      });
      event(out, "response.content_part.done", [&](JsonWriter& json) {
        place(json);
        json.key("part");
        write_content(json, choice, news.index, State::kWhole);
      });
      break;
    case AnswerPart::Kind::kReasoning:
      event(out, "response.reasoning_text.done", [&](JsonWriter& json) {
        place(json);
        json.field("text", part.text);
      });
      break;
    case AnswerPart::Kind::kCall:
      close_call(news, out);
      break;
  }
  event(out, "response.output_item.done", [&](JsonWriter& json) {
    json.field("output_index", news.index).key("item");
    write_item(json, choice, news.index, State::kWhole);
  });
}

void ResponsesFormat::write_part(const RunningChoice& choice, const PartCursor::News& news,
                                 std::string& out) {
  if (news.opens) open_part(choice, news, out);
  if (!news.text.empty() && !is_custom(news.part)) {
    const char* type = news.part.kind == AnswerPart::Kind::kText ? "response.output_text.delta"
                       : news.part.kind == AnswerPart::Kind::kReasoning
                           ? "response.reasoning_text.delta"
                           : "response.function_call_arguments.delta";
    event(out, type, [&](JsonWriter& json) {
      json.field("item_id", item_id(news.part, news.index)).field("output_index", news.index);
      if (news.part.kind != AnswerPart::Kind::kCall) json.field("content_index", 0);
      json.field("delta", news.text);
      if (news.part.kind != AnswerPart::Kind::kText) return;
      const std::size_t to = news.part.text.size();
      json.key("logprobs");
      write_logprobs(json, choice, news.index, to - news.text.size(), to);
    });
  }
  if (news.closes) close_part(choice, news, out);
}

// A response that has only begun, however far it is by now.
void ResponsesFormat::write_begun(JsonWriter& json, std::string_view status) const {
  json.begin_object().field("id", id_).field("object", "response");
  json.field("created_at", common_.created).field("status", status);
  json.field("model", common_.model).field_null("error").field_null("incomplete_details");
  json.key("output").begin_array().end_array().field_null("usage");
  json.raw(echo_).end_object();
}

void ResponsesFormat::write_event(const RunningChoice& choice, std::string& out) {
  if (!choice.opened) {
    const auto begun = [&](std::string_view type) {
      event(out, type, [&](JsonWriter& json) {
        json.key("response");
        write_begun(json, "in_progress");
      });
    };
    begun("response.created");
    begun("response.in_progress");
  }
  shown_.advance(choice.choice.parts(), choice.choice.is_finished(),
                 [&](const PartCursor::News& news) { write_part(choice, news, out); });
  if (!choice.choice.is_finished()) return;
  const ChoiceEnd& end = *choice.choice.end();
  JsonWriter response;
  write_response(response, choice);
  keep(choice, response.text());
  const char* type = is_failure(end)                        ? "response.failed"
                     : end.kind == ChoiceEnd::Kind::kLength ? "response.incomplete"
                                                            : "response.completed";
  event(out, type, [&](JsonWriter& json) { json.key("response").raw(response.text()); });
}

// With this answer at its end.
std::string ResponsesFormat::conversation(const RunningChoice& choice) const {
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
  return all + message.text() + "]";
}

void ResponsesFormat::keep(const RunningChoice& choice, std::string answer) const {
  if (messages_.empty()) return;
  KeptResponse kept{.answer = std::move(answer), .messages = {}, .running = {}};
  if (!is_failure(*choice.choice.end())) kept.messages = conversation(choice);
  if (!is_in_background_) return context_.responses->put(id_, std::move(kept));
  // The client may have deleted it.
  context_.responses->change(id_, [&](KeptResponse& now) { now = std::move(kept); });
}

HttpReply ResponsesFormat::begin_in_background() {
  is_in_background_ = true;
  JsonWriter now, later;
  write_begun(now, "queued");
  write_begun(later, "in_progress");
  context_.responses->put(id_, {.answer = later.take(), .messages = {}, .running = common_.id});
  return {.body = now.take()};
}

HttpReply ResponsesFormat::whole(const std::vector<RunningChoice>& choices) {
  JsonWriter json;
  write_response(json, choices.front());
  keep(choices.front(), json.text());
  return {.body = json.take()};
}

}  // namespace foretoken
