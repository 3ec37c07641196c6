#include "server/structured/call_grammar.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "server/structured/element_grammar.h"
#include "server/structured/loose_grammar.h"
#include "server/structured/python_grammar.h"
#include "server/structured/tag_format.h"
#include "server/structured/tagged_grammar.h"
#include "server/structured/tool_grammar.h"
#include "text/dialogue/call_parser.h"

namespace foretoken {
namespace {

namespace json = boost::json;

using namespace tag_format;

json::object object_of(json::object properties, json::array required) {
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

// By the words that models have learnt.
json::object call_object(const ObjectStyle& style, const BoundTool& tool, bool name_first,
                         json::object schema) {
  json::object properties;
  if (style.name_is_key) {
    properties[tool.name] = std::move(schema);
    return object_of(std::move(properties), {tool.name});
  }
  if (name_first) properties[style.name_key] = json::object{{"const", tool.name}};
  properties[style.arguments_key] = std::move(schema);
  properties[style.name_key] = json::object{{"const", tool.name}};
  return object_of(std::move(properties), {style.name_key, style.arguments_key});
}

// An id before the call or behind it, of which models of the family need none.
void add_id(const ObjectStyle& style, json::object& call) {
  if (style.name_is_key) return;
  json::object& properties = call["properties"].get_object();
  const json::object id{{"type", "string"}, {"maxLength", 64}};
  if (style.id_first) {
    json::object all{{style.id_key, id}};
    for (auto& [key, value] : properties) all[key] = std::move(value);
    properties = std::move(all);
  } else {
    properties[style.id_key] = id;
  }
}

// {"name": ..., "arguments": {...}}, in either order, because families differ.
Result<json::value> object_body(const ObjectStyle& style, std::span<const BoundTool> tools) {
  json::array options;
  for (const BoundTool& tool : tools)
    for (const bool name_first : {true, false}) {
      json::object schema = tool.schema, root;
      if (const auto refusal = move_definitions(schema, root)) return *refusal;
      json::object call = call_object(style, tool, name_first, std::move(schema));
      for (auto& [key, value] : root) call[key] = std::move(value);
      options.push_back(value_of(std::move(call)));
    }
  return any_of(std::move(options));
}

// [{"name": ..., "arguments": {...}, "id": ...}, ...]
Result<json::value> list_body(const ObjectStyle& style, std::span<const BoundTool> tools) {
  json::object root{{"type", "array"}, {"minItems", 1}, {"maxItems", kMaxCalls}};
  json::array calls;
  for (const BoundTool& tool : tools) {
    json::object schema = tool.schema;
    if (const auto refusal = move_definitions(schema, root)) return *refusal;
    json::object call = call_object(style, tool, true, std::move(schema));
    add_id(style, call);
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

// Each form in which the family writes a call.
std::optional<Refusal> add_bodies(const CallStyle& style, std::span<const BoundTool> tools,
                                  json::array& bodies) {
  std::optional<Refusal> refusal;
  const auto add = [&](Result<json::value> body) {
    if (body)
      bodies.push_back(*std::move(body));
    else if (!refusal)
      refusal = body.refusal();
  };
  const bool is_list = style.between.find('[') != std::string_view::npos;
  if (style.object && is_list) add(list_body(*style.object, tools));
  if (style.object && (!is_list || style.bare.find('{') != std::string_view::npos))
    add(object_body(*style.object, tools));
  if (style.takes_python) add(python_grammar(tools));
  if (style.named) add(named_body(*style.named, tools));
  if (style.has_channels) add(channel_body(tools));
  if (style.tagged) add(tagged_grammar(style, tools));
  if (style.elements) add(element_grammar(style, tools));
  if (style.loose) add(loose_grammar(style, tools));
  return refusal;
}

}  // namespace

CallMarks call_marks(const CallStyle& style) {
  if (style.has_channels)
    return {.calls = {"to=functions."},
            .opens = {"<|start|>", "<|channel|>"},
            .closes = "<|message|>",
            .is_open = false};
  if (style.begins.empty()) return {};
  if (style.call_begin.empty()) return {.calls = style.begins};
  const std::string_view mark = style.call_begin.front();
  CallMarks marks{.calls = {mark}};
  // A call may begin a section itself, or the mark be no text that anybody else would write.
  if (std::ranges::count(style.begins, mark) > 0 || mark.starts_with("<|") ||
      mark.starts_with("<｜"))
    return marks;
  marks.opens = style.begins;
  marks.closes = style.section_end;
  marks.is_open = false;
  return marks;
}

BareCalls bare_calls(const CallStyle& style, std::span<const BoundTool> tools) {
  BareCalls bare{.begins = style.bare, .signs = {}};
  if (style.bare.empty()) return bare;
  if (style.object) bare.signs.push_back(fmt::format("\"{}\"", style.object->arguments_key));
  for (const BoundTool& tool : tools) {
    if (style.object) bare.signs.push_back(json::serialize(json::value(tool.name)));
    if (style.takes_python) bare.signs.push_back(tool.name + "(");
  }
  return bare;
}

Result<std::string> call_grammar(const CallStyle& style, std::span<const BoundTool> tools) {
  json::array parts;
  for (std::size_t i = 1; i < style.call_begin.size(); ++i) {
    if (style.spaced_marks) parts.push_back(white());
    parts.push_back(constant(style.call_begin[i]));
  }
  json::array bodies;
  if (const auto refusal = add_bodies(style, tools, bodies)) return *refusal;
  parts.push_back(white());
  parts.push_back(any_of(std::move(bodies)));
  for (const std::string_view mark : style.call_end) {
    parts.push_back(white());
    parts.push_back(constant(mark));
  }
  return json::serialize(json::object{{"format", in_order(std::move(parts))}});
}

}  // namespace foretoken
