#include "server/routes/anthropic/chat_of_messages.h"

#include <string>

#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "server/chat/chat_body.h"
#include "server/json/json_lists.h"

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr std::int64_t kLeastBudget = 1024;  // of thinking, as Anthropic has it

// A text, or a list of blocks of which each is one.
std::string text_of(Fields& fields, std::string_view name) {
  const json::value* value = fields.find(name);
  if (value == nullptr) return {};
  if (value->is_string()) return std::string(value->get_string());
  std::string text;
  each_object(fields, name, [&](Fields& block) {
    const std::string type = required_text(block, "type");
    if (block.ok() && type != "text")
      return block.refuse(fmt::format("{}: content of type '{}' is not supported here: text only",
                                      block.path(), type));
    text += (text.empty() ? "" : "\n") + required_text(block, "text");
  });
  return text;
}

void read_user_block(Fields& block, ChatBody& chat, json::array& texts) {
  const std::string type = required_text(block, "type");
  if (type == "text") {
    texts.push_back(json::object{{"type", "text"}, {"text", required_text(block, "text")}});
  } else if (type == "tool_result") {
    const std::string id = required_text(block, "tool_use_id");
    chat.add_result(id, text_of(block, "content"));
  } else if (block.ok()) {
    block.refuse(fmt::format(
        "{}: content of type '{}' is not supported: this model reads text and results of tools",
        block.path(), type));
  }
}

void read_assistant_block(Fields& block, ChatBody& chat) {
  const std::string type = required_text(block, "type");
  if (type == "text") {
    chat.add_answer(required_text(block, "text"));
  } else if (type == "thinking") {
    chat.add_thought(required_text(block, "thinking"));
  } else if (type == "tool_use") {
    const std::string id = required_text(block, "id"), name = required_text(block, "name");
    const json::object* input = block.object("input");
    chat.add_call(id, name, input == nullptr ? "{}" : json::serialize(*input));
  } else if (block.ok() && type != "redacted_thinking") {
    block.refuse(fmt::format("{}: content of type '{}' is not supported", block.path(), type));
  }
}

void read_message(Fields& message, ChatBody& chat) {
  const std::string role = required_text(message, "role");
  message.require("content");
  if (!message.ok()) return;
  const bool is_user = role == "user";
  if (!is_user && role != "assistant")
    return message.refuse_field(
        "role", fmt::format("Input should be 'user' or 'assistant' (found '{}')", role));
  const json::value* content = message.find("content");
  if (content->is_string()) {
    if (is_user) return chat.add("user", *content);
    return chat.add_answer(content->get_string());
  }
  json::array texts;
  each_object(message, "content", [&](Fields& block) {
    if (is_user)
      read_user_block(block, chat, texts);
    else
      read_assistant_block(block, chat);
  });
  if (!texts.empty()) chat.add("user", std::move(texts));
}

void read_tools(Fields& body, ChatBody& chat) {
  json::array tools;
  each_object(body, "tools", [&](Fields& tool) {
    const std::string type = tool.string("type").value_or("custom");
    if (type != "custom")
      return tool.refuse(
          fmt::format("{}: tools of type '{}' are not supported: this server calls "
                      "no tools itself",
                      tool.path(), type));
    json::object function{{"name", required_text(tool, "name")}};
    tool.require("input_schema");
    if (const auto description = tool.string("description")) function["description"] = *description;
    if (const json::object* schema = tool.object("input_schema")) function["parameters"] = *schema;
    if (const auto strict = tool.boolean("strict")) function["strict"] = *strict;
    tools.push_back(json::object{{"type", "function"}, {"function", std::move(function)}});
  });
  if (!tools.empty()) chat.set("tools", std::move(tools));
  const json::object* choice = body.object("tool_choice");
  if (choice == nullptr) return;
  Fields inner(*choice, body.path() + ".tool_choice", body.fault());
  const std::string type = required_text(inner, "type");
  if (inner.boolean("disable_parallel_tool_use").value_or(false))
    chat.set("parallel_tool_calls", false);
  if (type == "auto" || type == "none")
    chat.set("tool_choice", json::value(type));
  else if (type == "any")
    chat.set("tool_choice", "required");
  else if (type == "tool")
    chat.set("tool_choice",
             json::object{{"type", "function"},
                          {"function", json::object{{"name", required_text(inner, "name")}}}});
  else if (inner.ok())
    inner.refuse_field("type", fmt::format("Input should be 'auto', 'any', 'tool' or 'none' (found "
                                           "'{}')",
                                           type));
}

// Templates think unless they are told not to; Anthropic's models the other way round. The budget
// is told to the template, too: what it may make of it is its family's.
void read_thinking(Fields& body, ChatBody& chat) {
  bool thinks = false;
  std::optional<std::int64_t> budget;
  if (const json::object* thinking = body.object("thinking")) {
    Fields inner(*thinking, body.path() + ".thinking", body.fault());
    const std::string type = required_text(inner, "type");
    thinks = type == "enabled" || type == "adaptive";
    if (inner.ok() && !thinks && type != "disabled")
      inner.refuse_field(
          "type",
          fmt::format("Input should be 'enabled', 'adaptive' or 'disabled' (found '{}')", type));
    if (type == "enabled") inner.require("budget_tokens");
    budget = inner.integer("budget_tokens");
    if (budget && *budget < kLeastBudget)
      inner.refuse_field("budget_tokens", fmt::format("Input should be at least {} (found {})",
                                                      kLeastBudget, *budget));
    const auto limit = body.integer("max_tokens");
    if (budget && limit && *budget >= *limit)
      inner.refuse_field("budget_tokens", "Input should be less than max_tokens");
  }
  json::object kwargs;
  if (const json::object* given = body.object("chat_template_kwargs")) kwargs = *given;
  for (const char* name : {"enable_thinking", "thinking"})
    if (!kwargs.contains(name)) kwargs[name] = thinks;
  if (thinks && budget && !kwargs.contains("thinking_budget")) kwargs["thinking_budget"] = *budget;
  chat.set("chat_template_kwargs", std::move(kwargs));
}

// The schema that the answer is bound to, as chats word it.
void read_format(Fields& fields, std::string_view name, ChatBody& chat) {
  const json::object* format = fields.object(name);
  if (format == nullptr) return;
  Fields inner(*format, fmt::format("{}.{}", fields.path(), name), fields.fault());
  const std::string type = required_text(inner, "type");
  if (inner.ok() && type != "json_schema")
    inner.refuse_field("type", fmt::format("Input should be 'json_schema' (found '{}')", type));
  inner.require("schema");
  if (const json::object* schema = inner.object("schema"))
    chat.set("response_format",
             json::object{{"type", "json_schema"},
                          {"json_schema", json::object{{"name", "output"}, {"schema", *schema}}}});
}

}  // namespace

json::object chat_of_messages(Fields& body, UnknownFields& unknown, bool counts_only) {
  check_known_fields(body, BodyKind::kMessages, unknown);
  ChatBody chat;
  chat.copy(body, shared_chat_fields());
  if (const std::string system = text_of(body, "system"); !system.empty())
    chat.add("system", json::value(system));
  body.require("messages");
  each_object(body, "messages", [&](Fields& message) { read_message(message, chat); });
  read_tools(body, chat);
  read_thinking(body, chat);
  read_format(body, "output_format", chat);
  if (const json::object* config = body.object("output_config")) {
    Fields inner(*config, body.path() + ".output_config", body.fault());
    read_format(inner, "format", chat);
  }
  if (!counts_only) {
    body.require("max_tokens");
    const auto limit = body.integer("max_tokens");
    if (limit && *limit < 1)
      body.refuse_field("max_tokens", fmt::format("Input should be at least 1 (found {})", *limit));
    if (limit) chat.set("max_tokens", *limit);
  }
  if (const json::value* stops = body.find("stop_sequences")) {
    body.array("stop_sequences");
    chat.set("stop", *stops);
  }
  // An answer that the client has begun goes on.
  if (!chat.messages().empty() && chat.messages().back().at("role") == "assistant")
    chat.set("continue_final_message", true);
  return chat.take();
}

}  // namespace foretoken
