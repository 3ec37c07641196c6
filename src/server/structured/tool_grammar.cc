#include "server/structured/tool_grammar.h"

#include <fmt/format.h>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "text/dialogue/call_parser.h"

namespace foretoken {

namespace json = boost::json;

std::optional<Refusal> move_definitions(json::object& schema, json::object& root) {
  for (const char* name : {"$defs", "definitions"}) {
    const json::value* given = schema.if_contains(name);
    if (given == nullptr || !given->is_object()) continue;
    if (!root.contains(name)) root[name] = json::object();
    json::object& all = root[name].get_object();
    for (const auto& [key, value] : given->get_object()) {
      if (all.contains(key) && all.at(key) != value)
        return Refusal{
            fmt::format("tools define \"{}\" of {} differently", std::string_view(key), name)};
      all[key] = value;
    }
    schema.erase(name);
  }
  return std::nullopt;
}

Result<std::string> schema_of_calls(const json::array& tools, std::string_view named,
                                    bool one_call) {
  json::object root{{"type", "array"}, {"minItems", 1}};
  root["maxItems"] = one_call || !named.empty() ? 1 : kMaxCalls;
  json::array calls;
  for (const json::value& tool : tools) {
    const json::object& function = tool.at("function").get_object();
    const json::value& name = function.at("name");
    if (!named.empty() && std::string_view(name.get_string()) != named) continue;
    const json::value* given = function.if_contains("parameters");
    json::object schema{{"type", "object"}};
    if (given != nullptr && given->is_object() && !given->get_object().empty())
      schema = given->get_object();
    if (!schema.contains("type")) schema["type"] = "object";
    if (const auto refusal = move_definitions(schema, root)) return *refusal;
    calls.push_back(json::object{
        {"type", "object"},
        {"properties",
         json::object{{"name", json::object{{"const", name}}}, {"parameters", std::move(schema)}}},
        {"required", json::array{"name", "parameters"}},
        {"additionalProperties", false}});
  }
  if (calls.empty())
    return Refusal{named.empty()
                       ? std::string("tool_choice demands a call, but there are no tools")
                       : fmt::format("tool_choice names '{}', but there is no such tool", named)};
  root["items"] = calls.size() == 1 ? calls.front() : json::object{{"anyOf", std::move(calls)}};
  return json::serialize(root);
}

}  // namespace foretoken
