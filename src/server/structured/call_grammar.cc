#include "server/structured/call_grammar.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "server/structured/python_grammar.h"
#include "server/structured/tag_format.h"
#include "server/structured/tagged_grammar.h"
#include "server/structured/tool_grammar.h"
#include "text/dialogue/call_parser.h"

namespace foretoken {
namespace {

namespace json = boost::json;

using namespace tag_format;

// Models have learnt one word for them.
std::string_view arguments_key(const CallStyle& style) {
  return style.name.starts_with("llama") ? "parameters" : "arguments";
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
      parts.push_back(maybe(in_order({constant(style.id_mark), pattern("[A-Za-z0-9]{1,40}")})));
    parts.push_back(white());
    parts.push_back(style.ends_at_brace ? maybe(constant(style.name_end))
                                        : constant(style.name_end));
    parts.push_back(white());
    parts.push_back(value_of(tool.schema));
    options.push_back(in_order(std::move(parts)));
  }
  return any_of(std::move(options));
}

// NAME <the rest of a header> {...} <the end of the message>
json::value channel_body(std::span<const BoundTool> tools) {
  json::array tails;
  for (const char* channel : {"", "<|channel|>commentary"})
    for (const char* type : {" <|constrain|>json", "<|constrain|>json", " json", ""})
      tails.push_back(constant(std::string(channel) + type + "<|message|>"));
  json::array options;
  for (const BoundTool& tool : tools)
    options.push_back(in_order({constant(tool.name), any_of(tails), white(), value_of(tool.schema),
                                white(), constant("<|call|>")}));
  return any_of(std::move(options));
}

}  // namespace

CallMarks call_marks(const CallStyle& style) {
  if (style.has_channels)
    return {.call = "to=functions.",
            .opens = {"<|start|>", "<|channel|>"},
            .closes = "<|message|>",
            .is_open = false};
  if (style.begins.empty()) return {};
  if (style.call_begin.empty()) return {.call = style.begins.front()};
  CallMarks marks{.call = style.call_begin.front()};
  // A call may begin a section itself, or the mark be no text that anybody else would write.
  if (std::ranges::count(style.begins, marks.call) > 0 || marks.call.starts_with("<|") ||
      marks.call.starts_with("<｜"))
    return marks;
  marks.opens = style.begins;
  marks.closes = style.section_end;
  marks.is_open = false;
  return marks;
}

BareCalls bare_calls(const CallStyle& style, std::span<const BoundTool> tools) {
  BareCalls bare{.begins = style.bare, .signs = {}};
  if (style.bare.empty()) return bare;
  if (style.takes_object) bare.signs.push_back(fmt::format("\"{}\"", arguments_key(style)));
  for (const BoundTool& tool : tools) {
    if (style.takes_object) bare.signs.push_back(json::serialize(json::value(tool.name)));
    if (style.takes_python) bare.signs.push_back(tool.name + "(");
  }
  return bare;
}

Result<std::string> call_grammar(const CallStyle& style, std::span<const BoundTool> tools) {
  json::array parts;
  for (std::size_t i = 1; i < style.call_begin.size(); ++i)
    parts.push_back(constant(style.call_begin[i]));
  json::array bodies;
  const bool is_list = style.takes_object && style.between.find('[') != std::string_view::npos;
  if (style.takes_object && is_list) {
    auto body = list_body(style, tools);
    if (!body) return body.refusal();
    bodies.push_back(*std::move(body));
  }
  if (style.takes_object && (!is_list || style.bare.find('{') != std::string_view::npos)) {
    auto body = object_body(style, tools);
    if (!body) return body.refusal();
    bodies.push_back(*std::move(body));
  }
  if (style.takes_python) {
    auto body = python_grammar(tools);
    if (!body) return body.refusal();
    bodies.push_back(*std::move(body));
  }
  if (style.named) bodies.push_back(named_body(*style.named, tools));
  if (style.has_channels) bodies.push_back(channel_body(tools));
  if (style.tagged) {
    auto body = tagged_grammar(style, tools);
    if (!body) return body.refusal();
    bodies.push_back(*std::move(body));
  }
  parts.push_back(white());
  parts.push_back(any_of(std::move(bodies)));
  for (const std::string_view mark : style.call_end) {
    parts.push_back(white());
    parts.push_back(constant(mark));
  }
  return json::serialize(json::object{{"format", in_order(std::move(parts))}});
}

}  // namespace foretoken
