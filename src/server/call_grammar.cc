#include "server/call_grammar.h"

#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "server/tool_grammar.h"
#include "text/dialogue/call_parser.h"

namespace foretoken {
namespace {

namespace json = boost::json;

json::value constant(std::string_view text) {
  return json::object{{"type", "const_string"}, {"value", text}};
}

json::value pattern(std::string_view regex) {
  return json::object{{"type", "regex"}, {"pattern", regex}};
}

json::value value_of(json::object schema) {
  return json::object{{"type", "json_schema"}, {"json_schema", std::move(schema)}};
}

json::value in_order(json::array elements) {
  return json::object{{"type", "sequence"}, {"elements", std::move(elements)}};
}

json::value any_of(json::array elements) {
  return json::object{{"type", "or"}, {"elements", std::move(elements)}};
}

json::value white() { return any_of({constant(""), pattern("[ \\t\\r\\n]{1,8}")}); }

// Models have learnt one word for them.
std::string_view arguments_key(const CallStyle& style) {
  return style.begins.front() == "<|python_tag|>" ? "parameters" : "arguments";
}

json::object call_object(const BoundTool& tool, std::string_view arguments, bool name_first,
                         json::object schema) {
  json::object properties;
  if (name_first) properties["name"] = json::object{{"const", tool.name}};
  properties[arguments] = std::move(schema);
  properties["name"] = json::object{{"const", tool.name}};
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", json::array{"name", arguments}},
          {"additionalProperties", false}};
}

// {"name": ..., "arguments": {...}}, in either order, because families differ.
Result<json::value> object_body(const CallStyle& style, std::span<const BoundTool> tools) {
  json::array options;
  for (const BoundTool& tool : tools)
    for (const bool name_first : {true, false}) {
      json::object schema = tool.schema, root;
      if (const auto refusal = move_definitions(schema, root)) return *refusal;
      json::object call = call_object(tool, arguments_key(style), name_first, std::move(schema));
      for (auto& [key, value] : root) call[key] = std::move(value);
      options.push_back(value_of(std::move(call)));
    }
  return any_of(std::move(options));
}

// [{"name": ..., "arguments": {...}, "id": ...}, ...]
Result<json::value> list_body(const CallStyle& style, std::span<const BoundTool> tools) {
  json::object root{{"type", "array"}, {"minItems", 1}, {"maxItems", kMaxCalls}};
  json::array calls;
  for (const BoundTool& tool : tools) {
    json::object schema = tool.schema;
    if (const auto refusal = move_definitions(schema, root)) return *refusal;
    json::object call = call_object(tool, arguments_key(style), true, std::move(schema));
    call["properties"].get_object()["id"] = json::object{{"type", "string"}, {"maxLength", 64}};
    calls.push_back(std::move(call));
  }
  root["items"] = json::object{{"anyOf", std::move(calls)}};
  return value_of(std::move(root));
}

// NAME <name_end> {...}
json::value named_body(const NamedStyle& style, std::span<const BoundTool> tools) {
  json::array options;
  for (const BoundTool& tool : tools) {
    json::array parts{constant(std::string(style.prefix) + tool.name)};
    if (style.name_is_id) {
      parts.push_back(constant(":"));
      parts.push_back(pattern("[0-9]{1,4}"));
    }
    if (!style.id_mark.empty())
      parts.push_back(any_of(
          {constant(""), in_order({constant(style.id_mark), pattern("[A-Za-z0-9]{1,40}")})}));
    parts.push_back(white());
    parts.push_back(style.ends_at_brace ? any_of({constant(""), constant(style.name_end)})
                                        : constant(style.name_end));
    parts.push_back(white());
    parts.push_back(value_of(tool.schema));
    options.push_back(in_order(std::move(parts)));
  }
  return any_of(std::move(options));
}

}  // namespace

std::string_view bound_mark(const CallStyle& style) {
  const bool is_json = style.named || (style.takes_object && !style.takes_python);
  if (!is_json || style.tagged || style.has_channels || style.begins.empty()) return {};
  return style.call_begin.empty() ? style.begins.front() : style.call_begin.front();
}

Result<std::string> call_grammar(const CallStyle& style, std::span<const BoundTool> tools) {
  json::array parts;
  for (std::size_t i = 1; i < style.call_begin.size(); ++i)
    parts.push_back(constant(style.call_begin[i]));
  json::array bodies;
  const bool is_list = style.takes_object && style.between.find('[') != std::string_view::npos;
  if (style.takes_object) {
    auto body = is_list ? list_body(style, tools) : object_body(style, tools);
    if (!body) return body.refusal();
    bodies.push_back(*std::move(body));
  }
  if (style.named) bodies.push_back(named_body(*style.named, tools));
  parts.push_back(white());
  parts.push_back(any_of(std::move(bodies)));
  for (const std::string_view mark : style.call_end) {
    parts.push_back(white());
    parts.push_back(constant(mark));
  }
  return json::serialize(json::object{{"format", in_order(std::move(parts))}});
}

}  // namespace foretoken
