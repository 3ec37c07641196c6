#include "server/routes/openai/response_tools.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/log.h"
#include "server/json/json_lists.h"

namespace foretoken {
namespace {

namespace json = boost::json;

json::object function_of_tool(const Fields& tool) {
  json::object function;
  for (const char* name : {"name", "description", "parameters", "strict"})
    if (const json::value* value = tool.find(name)) function[name] = *value;
  return function;
}

// A tool whose input is any text: a function of one text. What form it should have is told to the
// model, not kept.
json::object function_of_custom(Fields& tool) {
  json::object function{{"name", required_text(tool, "name")}};
  std::string description = tool.string("description").value_or("");
  if (const json::object* format = tool.object("format")) {
    Fields inner(*format, tool.path() + ".format", tool.fault());
    const auto grammar = inner.string("definition");
    if (grammar)
      description += fmt::format("\n\nThe input has the form of this {} grammar:\n{}",
                                 inner.string("syntax").value_or(""), *grammar);
  }
  if (!description.empty()) function["description"] = description;
  function["parameters"] =
      json::object{{"type", "object"},
                   {"properties", json::object{{"input", json::object{{"type", "string"}}}}},
                   {"required", json::array{"input"}},
                   {"additionalProperties", false}};
  return function;
}

// Of the names that tool_choice allows; null: all.
using Allowed = std::optional<std::vector<std::string>>;

void read_tools(ServerContext& context, Fields& body, const Allowed& allowed, ChatBody& chat,
                ResponseTools& out) {
  json::array tools;
  each_object(body, "tools", [&](Fields& tool) {
    const std::string type = required_text(tool, "type");
    if (!tool.ok()) return;
    if (type != "function" && type != "custom") return skip_built_in(context, "Tools", type);
    json::object function = type == "custom" ? function_of_custom(tool) : function_of_tool(tool);
    const json::value* name = function.if_contains("name");
    if (name != nullptr && name->is_string()) {
      const std::string named(name->get_string());
      if (allowed && std::ranges::find(*allowed, named) == allowed->end()) return;
      if (type == "custom") out.custom.insert(named);
    }
    tools.push_back(json::object{{"type", "function"}, {"function", std::move(function)}});
  });
  if (!tools.empty()) chat.set("tools", std::move(tools));
}

// {"type": "allowed_tools", "mode": ..., "tools": [...]}
Allowed read_allowed(Fields& choice, ChatBody& chat) {
  std::vector<std::string> names;
  each_object(choice, "tools", [&](Fields& tool) {
    if (const auto name = tool.string("name")) names.push_back(*name);
  });
  chat.set("tool_choice", json::value(choice.string("mode").value_or("auto")));
  return names;
}

bool has_functions(const Fields& body) {
  const json::value* tools = body.find("tools");
  return tools != nullptr && tools->is_array() &&
         std::ranges::any_of(tools->get_array(), [](const json::value& tool) {
           const json::object* object = tool.if_object();
           const json::value* type = object == nullptr ? nullptr : object->if_contains("type");
           return type != nullptr && (*type == "function" || *type == "custom");
         });
}

// What the answer repeats of the choice.
json::value read_tool_choice(Fields& body, ChatBody& chat, Allowed& allowed) {
  const json::value* choice = body.find("tool_choice");
  if (choice == nullptr) return "auto";
  // A choice among tools that were all skipped is none.
  if (body.has("tools") && !is_empty_value(*body.find("tools")) && !has_functions(body))
    return "auto";
  if (!choice->is_object()) {
    chat.set("tool_choice", *choice);
    return *choice;
  }
  Fields fields(choice->get_object(), body.path() + ".tool_choice", body.fault());
  const std::string type = fields.string("type").value_or("function");
  if (type == "allowed_tools") {
    allowed = read_allowed(fields, chat);
    return *choice;
  }
  if (type != "function" && type != "custom") return "auto";  // a built-in tool
  const json::object function{{"name", required_text(fields, "name")}};
  chat.set("tool_choice", json::object{{"type", "function"}, {"function", function}});
  return *choice;
}

}  // namespace

void skip_built_in(ServerContext& context, std::string_view what, std::string_view type) {
  if (context.unknown_fields.is_news(fmt::format("{} {}", what, type)))
    log_warning("{} of type \"{}\" are skipped: this server calls no tools itself.", what,
                UnknownFields::shown_name(type));
}

ResponseTools read_response_tools(ServerContext& context, Fields& body, ChatBody& chat) {
  ResponseTools out;
  Allowed allowed;
  out.choice = read_tool_choice(body, chat, allowed);
  read_tools(context, body, allowed, chat, out);
  return out;
}

}  // namespace foretoken
