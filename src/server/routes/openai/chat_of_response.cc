#include "server/routes/openai/chat_of_response.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "base/json_text.h"
#include "server/chat/chat_body.h"
#include "server/chat/chat_prompt.h"
#include "server/json/json_lists.h"
#include "server/json/known_fields.h"
#include "server/routes/openai/response_tools.h"

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr std::size_t kMostEchoed = 64 << 10;  // bytes of a field that the answer repeats

// A text, or a list of parts of which each has one.
std::string optional_text(Fields& fields, std::string_view name) {
  const json::value* value = fields.find(name);
  if (value == nullptr) return {};
  if (value->is_string()) return std::string(value->get_string());
  const json::array* list = fields.array(name);
  if (list == nullptr) return {};
  std::string text;
  std::size_t index = 0;
  for (const json::value& part : *list) {
    const std::string path = fmt::format("{}.{}.{}", fields.path(), name, index++);
    if (!part.is_object()) {
      fields.refuse(
          fmt::format("{}: Input should be a valid dictionary (found {})", path, json_kind(part)));
      return {};
    }
    Fields inner(part.get_object(), path, fields.fault());
    const std::string type = required_text(inner, "type");
    if (type == "refusal") {
      text += required_text(inner, "refusal");
      continue;
    }
    if (inner.ok() && !type.ends_with("text"))
      inner.refuse(
          fmt::format("{}: content of type '{}' is not supported: this model reads text "
                      "only",
                      path, type));
    text += required_text(inner, "text");
    if (!fields.ok()) return {};
  }
  return text;
}

// Calls by OpenAI's servers of their own tools, and what came of them.
bool is_of_built_in_tool(std::string_view type) {
  return type.ends_with("_call") || type.ends_with("_call_output") || type.starts_with("mcp_");
}

void read_custom_call(Fields& item, ChatBody& chat) {
  const std::string id = required_text(item, "call_id"), name = required_text(item, "name");
  const json::object arguments{{"input", required_text(item, "input")}};
  chat.add_call(id, name, json::serialize(arguments));
}

void read_item(ServerContext& context, Fields& item, ChatBody& chat) {
  const std::string type = item.string("type").value_or("message");
  if (type == "message") {
    const std::string role = required_text(item, "role");
    item.require("content");
    const std::string text = optional_text(item, "content");
    if (role == "assistant") return chat.add_answer(text);
    if (item.ok() && role != "user" && role != "system" && role != "developer")
      return item.refuse_field("role", fmt::format("Input should be 'user', 'assistant', 'system' "
                                                   "or 'developer' (found '{}')",
                                                   role));
    return chat.add(role, json::value(text));
  }
  if (type == "function_call")
    return chat.add_call(required_text(item, "call_id"), required_text(item, "name"),
                         required_text(item, "arguments"));
  if (type == "custom_tool_call") return read_custom_call(item, chat);
  if (type == "function_call_output" || type == "custom_tool_call_output") {
    item.require("output");
    return chat.add_result(required_text(item, "call_id"),
                           json::value(optional_text(item, "output")));
  }
  if (type == "reasoning") {
    const std::string thought = optional_text(item, "content");
    if (!thought.empty()) chat.add_thought(thought);
    return;
  }
  if (is_of_built_in_tool(type)) return skip_built_in(context, "Items", type);
  item.refuse(fmt::format("{}: items of type '{}' are not supported", item.path(), type));
}

void read_input(ServerContext& context, Fields& body, ChatBody& chat) {
  body.require("input");
  const json::value* input = body.find("input");
  if (input == nullptr) return;
  if (input->is_string()) return chat.add("user", *input);
  if (input->is_array() && input->get_array().empty())
    return body.refuse_field("input", "List should have at least 1 item after validation, not 0");
  each_object(body, "input", [&](Fields& item) { read_item(context, item, chat); });
}

// {"format": {"type": "json_schema", "name": ..., "schema": ...}} as chats word it.
void read_text_format(Fields& body, ChatBody& chat) {
  const json::object* text = body.object("text");
  if (text == nullptr) return;
  Fields inner(*text, body.path() + ".text", body.fault());
  const json::object* format = inner.object("format");
  if (format == nullptr) return;
  Fields fields(*format, inner.path() + ".format", body.fault());
  const std::string type = required_text(fields, "type");
  json::object out{{"type", type}};
  if (type != "text" && type != "json_object" && type != "json_schema")
    fields.refuse_field("type", "Input should be 'text', 'json_object' or 'json_schema'");
  if (type == "json_schema") {
    fields.require("schema");
    json::object schema;
    for (const char* name : {"name", "description", "schema", "strict"})
      if (const json::value* value = fields.find(name)) schema[name] = *value;
    out["json_schema"] = std::move(schema);
  }
  chat.set("response_format", std::move(out));
}

// Asked for by `include`, or by a number of alternatives.
void read_logprobs(Fields& body, ChatBody& chat) {
  const auto alternatives = body.integer("top_logprobs");
  bool is_wanted = alternatives.value_or(0) != 0;
  if (const json::array* include = body.array("include"))
    is_wanted =
        is_wanted ||
        std::ranges::find(*include, json::value("message.output_text.logprobs")) != include->end();
  if (!is_wanted) return;
  chat.set("logprobs", true);
  chat.set("top_logprobs", alternatives.value_or(0));
}

json::value echoed(const Fields& body, std::string_view name, json::value otherwise) {
  const json::value* value = body.find(name);
  return value == nullptr || json::serialize(*value).size() > kMostEchoed ? std::move(otherwise)
                                                                          : *value;
}

json::object echo_of(const Fields& body) {
  json::object echo;
  for (const char* name : {"instructions", "max_output_tokens", "previous_response_id", "user"})
    echo[name] = echoed(body, name, nullptr);
  echo["background"] = echoed(body, "background", false);
  echo["metadata"] = echoed(body, "metadata", json::object());
  echo["parallel_tool_calls"] = echoed(body, "parallel_tool_calls", true);
  echo["reasoning"] = echoed(body, "reasoning", {{"effort", nullptr}, {"summary", nullptr}});
  echo["store"] = echoed(body, "store", true);
  echo["temperature"] = echoed(body, "temperature", 1.0);
  echo["text"] = echoed(body, "text", {{"format", {{"type", "text"}}}});
  echo["tools"] = echoed(body, "tools", json::array());
  echo["top_logprobs"] = echoed(body, "top_logprobs", 0);
  echo["top_p"] = echoed(body, "top_p", 1.0);
  echo["truncation"] = echoed(body, "truncation", "disabled");
  return echo;
}

// The conversation that `previous_response_id` names.
void read_previous(ServerContext& context, Fields& body, ChatBody& chat) {
  const auto id = body.string("previous_response_id");
  if (!id) return;
  const auto kept = context.responses->find(*id);
  if (kept && !kept->running.empty())
    return body.refuse(fmt::format("Previous response with id '{}' is not over yet.", *id));
  if (!kept || kept->messages.empty())
    return body.refuse(fmt::format("Previous response with id '{}' not found.", *id));
  JsonFault fault;
  chat.messages() = parse_json(kept->messages, fault)->as_array();
}

}  // namespace

ResponseRequest chat_of_response(ServerContext& context, Fields& body) {
  check_known_fields(body, BodyKind::kResponses, context.unknown_fields);
  ResponseRequest out;
  ChatBody chat;
  chat.copy(body, shared_chat_fields());
  read_previous(context, body, chat);
  read_input(context, body, chat);
  const bool keeps = body.boolean("store").value_or(true);
  if (keeps) out.messages = json::serialize(chat.messages());
  if (const auto instructions = body.string("instructions"))
    chat.messages().insert(chat.messages().begin(),
                           json::object{{"role", "system"}, {"content", *instructions}});
  ResponseTools tools = read_response_tools(context, body, chat);
  out.custom_tools = std::move(tools.custom);
  read_text_format(body, chat);
  if (const json::object* reasoning = body.object("reasoning"))
    if (const json::value* effort = reasoning->if_contains("effort");
        effort != nullptr && !effort->is_null())
      chat.set("reasoning_effort", *effort);
  if (const json::value* limit = body.find("max_output_tokens")) {
    body.integer("max_output_tokens");
    chat.set("max_completion_tokens", *limit);
  }
  if (const auto truncation = body.string("truncation"); truncation && *truncation != "disabled")
    body.refuse_field("truncation", "only 'disabled' is supported: a prompt is not cut");
  read_logprobs(body, chat);
  out.runs_in_background = body.boolean("background").value_or(false);
  if (out.runs_in_background && !keeps)
    body.refuse_field("background", "an answer that is not stored cannot be asked for later");
  for (const char* name :
       {"stop", "parallel_tool_calls", "thinking_token_budget", "thinking_budget"})
    if (const json::value* value = body.find(name)) chat.set(name, *value);
  out.echo = echo_of(body);
  out.echo["tool_choice"] = std::move(tools.choice);
  out.chat = chat.take();
  return out;
}

}  // namespace foretoken
