#include "server/routes/anthropic/chat_of_messages.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "base/log.h"
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

// What a search found: where it is from, then what it says.
std::string text_of_search_result(Fields& block) {
  std::string text = required_text(block, "title");
  text += " (" + required_text(block, "source") + ")";
  return text + "\n" + text_of(block, "content");
}

// A document that is a text.
std::string text_of_document(Fields& block) {
  block.require("source");
  const json::object* source = block.object("source");
  if (source == nullptr) return {};
  Fields inner(*source, block.path() + ".source", block.fault());
  const std::string type = required_text(inner, "type");
  if (inner.ok() && type != "text" && type != "content")
    inner.refuse_field("type", fmt::format("documents of type '{}' are not supported: this model "
                                           "reads text only",
                                           type));
  const std::string title = block.string("title").value_or("");
  const std::string text =
      type == "content" ? text_of(inner, "content") : required_text(inner, "data");
  return title.empty() ? text : title + "\n" + text;
}

// The part of a chat's message for a block of text; null: it is another one.
json::value text_part(Fields& block, std::string_view type) {
  const auto part = [](std::string text) {
    return json::object{{"type", "text"}, {"text", std::move(text)}};
  };
  if (type == "text") return part(required_text(block, "text"));
  if (type == "search_result") return part(text_of_search_result(block));
  if (type == "document") return part(text_of_document(block));
  return nullptr;
}

// The content of a tool's result: a text, or a list of parts where it refers to tools.
json::value content_of_result(Fields& result) {
  const json::value* content = result.find("content");
  if (content == nullptr) return "";
  if (content->is_string()) return *content;
  json::array parts;
  bool is_text = true;
  std::string text;
  each_object(result, "content", [&](Fields& block) {
    const std::string type = required_text(block, "type");
    json::value part = text_part(block, type);
    if (type == "tool_reference") {
      is_text = false;
      part = json::object{{"type", type}, {"name", required_text(block, "tool_name")}};
    } else if (part.is_null()) {
      return block.refuse(fmt::format("{}: content of type '{}' is not supported here: text only",
                                      block.path(), type));
    } else {
      text += (text.empty() ? "" : "\n") + std::string(part.at("text").as_string());
    }
    parts.push_back(std::move(part));
  });
  if (is_text) return json::value(text);
  return parts;
}

void read_user_block(Fields& block, ChatBody& chat, json::array& texts) {
  const std::string type = required_text(block, "type");
  if (json::value part = text_part(block, type); !part.is_null()) {
    texts.push_back(std::move(part));
  } else if (type == "tool_result") {
    const std::string id = required_text(block, "tool_use_id");
    chat.add_result(id, content_of_result(block));
  } else if (block.ok()) {
    block.refuse(fmt::format(
        "{}: content of type '{}' is not supported: this model reads text and results of tools",
        block.path(), type));
  }
}

// Calls by Anthropic's servers of their own tools, and what came of them.
bool is_of_server_tool(std::string_view type) {
  return type == "server_tool_use" || type == "mcp_tool_use" || type == "container_upload" ||
         type.ends_with("_tool_result");
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
  } else if (block.ok() && type != "redacted_thinking" && !is_of_server_tool(type)) {
    block.refuse(fmt::format("{}: content of type '{}' is not supported", block.path(), type));
  }
}

void read_message(Fields& message, ChatBody& chat) {
  const std::string role = required_text(message, "role");
  message.require("content");
  if (!message.ok()) return;
  if (role == "system") return chat.add(role, json::value(text_of(message, "content")));
  const bool is_user = role == "user";
  if (!is_user && role != "assistant")
    return message.refuse_field(
        "role", fmt::format("Input should be 'user', 'assistant' or 'system' (found '{}')", role));
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

json::object function_of(Fields& tool) {
  json::object function{{"name", required_text(tool, "name")}};
  tool.require("input_schema");
  if (const auto description = tool.string("description")) function["description"] = *description;
  if (const json::object* schema = tool.object("input_schema")) function["parameters"] = *schema;
  if (const auto strict = tool.boolean("strict")) function["strict"] = *strict;
  return function;
}

// Tools of other types are Anthropic's own: they run there, or the model was trained on their
// schemas.
void read_tools(Fields& body, UnknownFields& unknown, ChatBody& chat) {
  json::array tools;
  each_object(body, "tools", [&](Fields& tool) {
    const std::string type = tool.string("type").value_or("custom");
    if (type == "custom")
      tools.push_back(json::object{{"type", "function"}, {"function", function_of(tool)}});
    else if (tool.ok() && unknown.is_news("tools of type " + type))
      log_warning("Tools of type \"{}\" are skipped: this server calls no tools itself.",
                  UnknownFields::shown_name(type));
  });
  if (!tools.empty()) chat.set("tools", std::move(tools));
}

bool has_tool(const Fields& body, std::string_view name) {
  const json::value* tools = body.find("tools");
  return tools != nullptr && tools->is_array() &&
         std::ranges::any_of(tools->get_array(), [&](const json::value& tool) {
           const json::object* object = tool.if_object();
           const json::value* type = object == nullptr ? nullptr : object->if_contains("type");
           const json::value* own = object == nullptr ? nullptr : object->if_contains("name");
           return own != nullptr && own->is_string() &&
                  (name.empty() || std::string_view(own->get_string()) == name) &&
                  (type == nullptr || type->is_null() || *type == "custom");
         });
}

// Whether a call is demanded. A choice among tools that were skipped is none.
bool read_tool_choice(Fields& body, ChatBody& chat) {
  const json::object* choice = body.object("tool_choice");
  if (choice == nullptr) return false;
  Fields inner(*choice, body.path() + ".tool_choice", body.fault());
  const std::string type = required_text(inner, "type");
  if (inner.boolean("disable_parallel_tool_use").value_or(false))
    chat.set("parallel_tool_calls", false);
  if (type == "auto" || type == "none") {
    chat.set("tool_choice", json::value(type));
    return false;
  }
  if (type != "any" && type != "tool") {
    inner.refuse_field("type", fmt::format("Input should be 'auto', 'any', 'tool' or 'none' (found "
                                           "'{}')",
                                           type));
    return false;
  }
  const std::string name = type == "tool" ? required_text(inner, "name") : "";
  const json::value* tools = body.find("tools");
  if (tools != nullptr && !is_empty_value(*tools) && !has_tool(body, name)) return false;
  if (type == "any")
    chat.set("tool_choice", "required");
  else
    chat.set("tool_choice",
             json::object{{"type", "function"}, {"function", json::object{{"name", name}}}});
  return true;
}

// What Anthropic refuses beside thinking.
void check_beside_thinking(Fields& body, bool demands_call) {
  const auto refuse = [&](std::string_view name, std::string_view message) {
    body.refuse_field(name, message);
  };
  if (const auto temperature = body.number("temperature"); temperature && *temperature != 1.0)
    refuse("temperature", "may only be set to 1 when thinking is enabled");
  if (body.has("top_k")) refuse("top_k", "must be unset when thinking is enabled");
  if (const auto top_p = body.number("top_p"); top_p && (*top_p < 0.95 || *top_p > 1.0))
    refuse("top_p", "must be between 0.95 and 1, or unset, when thinking is enabled");
  if (demands_call)
    refuse("tool_choice", "thinking may not be enabled when tool_choice forces tool use");
}

// Templates think unless they are told not to; Anthropic's models the other way round. The budget
// is told to the template, too: what it may make of it is its family's.
void read_thinking(Fields& body, bool demands_call, ChatBody& chat) {
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
    if (type != "enabled" && budget)
      inner.refuse_field("budget_tokens", fmt::format("not allowed where type is '{}'", type));
    if (thinks) check_beside_thinking(body, demands_call);
  }
  json::object kwargs;
  if (const json::object* given = body.object("chat_template_kwargs")) kwargs = *given;
  for (const char* name : {"enable_thinking", "thinking"})
    if (!kwargs.contains(name)) kwargs[name] = thinks;
  if (thinks && budget && !kwargs.contains("thinking_budget")) kwargs["thinking_budget"] = *budget;
  chat.set("chat_template_kwargs", std::move(kwargs));
}

// Edits of the conversation are accepted where they leave it as it is: all thoughts are kept.
void check_context_edits(Fields& body) {
  const json::object* management = body.object("context_management");
  if (management == nullptr) return;
  Fields inner(*management, body.path() + ".context_management", body.fault());
  each_object(inner, "edits", [](Fields& edit) {
    const std::string type = required_text(edit, "type");
    const json::value* keep = edit.find("keep");
    if (edit.ok() && (!type.starts_with("clear_thinking") || keep == nullptr || *keep != "all"))
      edit.refuse(
          fmt::format("{}: edits of type '{}' are not supported: this server edits no "
                      "prompts",
                      edit.path(), type));
  });
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
  read_tools(body, unknown, chat);
  read_thinking(body, read_tool_choice(body, chat), chat);
  check_context_edits(body);
  read_format(body, "output_format", chat);
  if (const json::object* config = body.object("output_config")) {
    Fields inner(*config, body.path() + ".output_config", body.fault());
    read_format(inner, "format", chat);
    if (const auto effort = inner.string("effort"))
      chat.set("reasoning_effort", json::value(*effort));
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
