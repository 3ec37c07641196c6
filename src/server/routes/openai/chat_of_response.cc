#include "server/routes/openai/chat_of_response.h"

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

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr std::size_t kMostEchoed = 64 << 10;  // bytes of a field that the answer repeats

// A text, or a list of parts of which each has one.
std::string text_of(Fields& fields, std::string_view name) {
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

void read_item(Fields& item, ChatBody& chat) {
  const std::string type = item.string("type").value_or("message");
  if (type == "message") {
    const std::string role = required_text(item, "role");
    item.require("content");
    const std::string text = text_of(item, "content");
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
  if (type == "function_call_output") {
    item.require("output");
    return chat.add_result(required_text(item, "call_id"), text_of(item, "output"));
  }
  if (type == "reasoning") {
    const std::string thought = text_of(item, "content");
    if (!thought.empty()) chat.add_thought(thought);
    return;
  }
  item.refuse(fmt::format("{}: items of type '{}' are not supported", item.path(), type));
}

void read_input(Fields& body, ChatBody& chat) {
  body.require("input");
  const json::value* input = body.find("input");
  if (input == nullptr) return;
  if (input->is_string()) return chat.add("user", *input);
  each_object(body, "input", [&](Fields& item) { read_item(item, chat); });
}

void read_tools(Fields& body, ChatBody& chat) {
  json::array tools;
  each_object(body, "tools", [&](Fields& tool) {
    const std::string type = required_text(tool, "type");
    if (tool.ok() && type != "function")
      return tool.refuse(
          fmt::format("{}: tools of type '{}' are not supported: this server calls "
                      "no tools itself",
                      tool.path(), type));
    json::object function;
    for (const char* name : {"name", "description", "parameters", "strict"})
      if (const json::value* value = tool.find(name)) function[name] = *value;
    tools.push_back(json::object{{"type", "function"}, {"function", std::move(function)}});
  });
  if (!tools.empty()) chat.set("tools", std::move(tools));
}

void read_tool_choice(Fields& body, ChatBody& chat) {
  const json::value* choice = body.find("tool_choice");
  if (choice == nullptr) return;
  const json::object* named = choice->if_object();
  const json::value* name = named == nullptr ? nullptr : named->if_contains("name");
  if (name == nullptr) return chat.set("tool_choice", *choice);
  chat.set("tool_choice",
           json::object{{"type", "function"}, {"function", json::object{{"name", *name}}}});
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
  if (type == "json_schema") {
    json::object schema;
    for (const char* name : {"name", "description", "schema", "strict"})
      if (const json::value* value = fields.find(name)) schema[name] = *value;
    out["json_schema"] = std::move(schema);
  }
  chat.set("response_format", std::move(out));
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
  echo["metadata"] = echoed(body, "metadata", json::object());
  echo["parallel_tool_calls"] = echoed(body, "parallel_tool_calls", true);
  echo["reasoning"] = echoed(body, "reasoning", {{"effort", nullptr}, {"summary", nullptr}});
  echo["store"] = echoed(body, "store", true);
  echo["temperature"] = echoed(body, "temperature", 1.0);
  echo["text"] = echoed(body, "text", {{"format", {{"type", "text"}}}});
  echo["tool_choice"] = echoed(body, "tool_choice", "auto");
  echo["tools"] = echoed(body, "tools", json::array());
  echo["top_p"] = echoed(body, "top_p", 1.0);
  echo["truncation"] = echoed(body, "truncation", "disabled");
  return echo;
}

// The conversation that `previous_response_id` names.
void read_previous(ServerContext& context, Fields& body, ChatBody& chat) {
  const auto id = body.string("previous_response_id");
  if (!id) return;
  const auto messages = context.responses->find(*id);
  if (!messages)
    return body.refuse(fmt::format("Previous response with id '{}' not found.", *id), 404);
  JsonFault fault;
  chat.messages() = parse_json(*messages, fault)->as_array();
}

}  // namespace

ResponseRequest chat_of_response(ServerContext& context, Fields& body) {
  check_known_fields(body, BodyKind::kResponses, context.unknown_fields);
  ResponseRequest out;
  ChatBody chat;
  chat.copy(body, shared_chat_fields());
  read_previous(context, body, chat);
  read_input(body, chat);
  const bool keeps = body.boolean("store").value_or(true);
  if (keeps) out.messages = json::serialize(chat.messages());
  if (const auto instructions = body.string("instructions"))
    chat.messages().insert(chat.messages().begin(),
                           json::object{{"role", "system"}, {"content", *instructions}});
  read_tools(body, chat);
  read_tool_choice(body, chat);
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
  if (const json::array* include = body.array("include"))
    for (const json::value& what : *include)
      if (what == "message.output_text.logprobs")
        body.refuse_field("include", "logprobs are not reported here: use /v1/chat/completions");
  for (const char* name :
       {"stop", "parallel_tool_calls", "thinking_token_budget", "thinking_budget"})
    if (const json::value* value = body.find(name)) chat.set(name, *value);
  out.echo = echo_of(body);
  out.chat = chat.take();
  return out;
}

}  // namespace foretoken
