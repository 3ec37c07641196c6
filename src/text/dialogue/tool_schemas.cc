#include "text/dialogue/tool_schemas.h"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/json_text.h"
#include "text/dialogue/json_escape.h"
#include "text/dialogue/marks.h"
#include "text/dialogue/python_literal.h"

namespace foretoken {
namespace {

namespace json = boost::json;

void add_kind(const json::value& value, ParameterTypes& types) {
  switch (value.kind()) {
    case json::kind::string:
      types.string = true;
      return;
    case json::kind::bool_:
      types.boolean = true;
      return;
    case json::kind::null:
      types.null = true;
      return;
    case json::kind::object:
      types.object = true;
      return;
    case json::kind::array:
      types.array = true;
      return;
    default:
      types.number = true;
  }
}

void add_name(std::string_view name, ParameterTypes& types) {
  if (name == "string") types.string = true;
  if (name == "integer" || name == "number") types.number = true;
  if (name == "boolean") types.boolean = true;
  if (name == "null") types.null = true;
  if (name == "object") types.object = true;
  if (name == "array") types.array = true;
}

// Schemas come from outside, so the search of nested alternatives is bounded: levels, and schemas
// that are looked at.
struct Effort {
  int depth = 4, left = 1000;
};

// root: where references begin.
void add_types(const json::object* object, const json::object& root, ParameterTypes& types,
               Effort& effort) {
  if (object == nullptr || effort.depth == 0 || effort.left-- <= 0) return;
  --effort.depth;
  add_types(referred_schema(*object, root), root, types, effort);
  if (const json::value* type = object->if_contains("type")) {
    if (type->is_string()) add_name(type->get_string(), types);
    if (type->is_array())
      for (const json::value& name : type->get_array())
        if (name.is_string()) add_name(name.get_string(), types);
  }
  if (const json::value* constant = object->if_contains("const")) add_kind(*constant, types);
  if (const json::value* list = object->if_contains("enum"); list != nullptr && list->is_array())
    for (const json::value& value : list->get_array()) add_kind(value, types);
  for (const char* name : {"anyOf", "oneOf", "allOf"})
    if (const json::value* list = object->if_contains(name); list != nullptr && list->is_array())
      for (const json::value& inner : list->get_array())
        add_types(inner.if_object(), root, types, effort);
  ++effort.depth;
}

// What `pick` finds in the schema, in what it refers to, or in its alternatives; null: nothing.
template <typename Pick>
const json::value* search(const json::object* object, const json::object& root, Effort& effort,
                          const Pick& pick) {
  if (object == nullptr || effort.depth == 0 || effort.left-- <= 0) return nullptr;
  if (const json::value* found = pick(*object); found != nullptr) return found;
  --effort.depth;
  const json::value* found = search(referred_schema(*object, root), root, effort, pick);
  for (const char* name : {"anyOf", "oneOf", "allOf"})
    if (const json::value* list = object->if_contains(name); list != nullptr && list->is_array())
      for (const json::value& inner : list->get_array())
        if (found == nullptr) found = search(inner.if_object(), root, effort, pick);
  ++effort.depth;
  return found;
}

bool fits(const json::value& value, const ParameterTypes& types) {
  ParameterTypes kind;
  add_kind(value, kind);
  return (kind.string && types.string) || (kind.number && types.number) ||
         (kind.boolean && types.boolean) || (kind.null && types.null) ||
         (kind.object && types.object) || (kind.array && types.array);
}

}  // namespace

const json::object* referred_schema(const json::object& schema, const json::object& root) {
  const json::value* reference = schema.if_contains("$ref");
  if (reference == nullptr || !reference->is_string()) return nullptr;
  for (const char* list : {"$defs", "definitions"}) {
    const std::string prefix = std::string("#/") + list + "/";
    const std::string_view path = reference->get_string();
    if (!path.starts_with(prefix)) continue;
    const json::value* all = root.if_contains(list);
    if (all == nullptr || !all->is_object()) return nullptr;
    const json::value* found = all->get_object().if_contains(path.substr(prefix.size()));
    return found == nullptr ? nullptr : found->if_object();
  }
  return nullptr;
}

SchemaPlace SchemaPlace::at(const json::value* schema) const {
  return schema != nullptr && schema->is_object() ? SchemaPlace(schema->get_object(), *root_)
                                                  : SchemaPlace();
}

ParameterTypes SchemaPlace::types() const {
  ParameterTypes types;
  Effort effort;
  if (schema_ != nullptr) add_types(schema_, *root_, types, effort);
  return types;
}

SchemaPlace SchemaPlace::member(std::string_view name) const {
  if (schema_ == nullptr) return {};
  Effort effort;
  return at(search(schema_, *root_, effort, [&](const json::object& object) -> const json::value* {
    const json::value* properties = object.if_contains("properties");
    if (properties != nullptr && properties->is_object())
      if (const json::value* found = properties->get_object().if_contains(name)) return found;
    const json::value* others = object.if_contains("additionalProperties");
    return others != nullptr && others->is_object() ? others : nullptr;
  }));
}

SchemaPlace SchemaPlace::item() const {
  if (schema_ == nullptr) return {};
  Effort effort;
  return at(search(schema_, *root_, effort,
                   [](const json::object& object) { return object.if_contains("items"); }));
}

ToolSchemas::ToolSchemas(const json::array& tools) {
  for (const json::value& each : tools) {
    const json::object& function = each.at("function").as_object();
    Tool& tool = tools_[std::string(function.at("name").as_string())];
    const json::value* schema = function.if_contains("parameters");
    if (schema == nullptr || !schema->is_object()) continue;
    tool.schema = schema->get_object();
    const json::value* properties = tool.schema.if_contains("properties");
    if (properties == nullptr || !properties->is_object()) continue;
    for (const auto& [name, property] : properties->get_object())
      if (property.is_object())
        tool.parameters[std::string(name)] =
            SchemaPlace(property.get_object(), tool.schema).types();
  }
}

ParameterTypes ToolSchemas::types(std::string_view tool, std::string_view parameter) const {
  const auto of_tool = tools_.find(tool);
  if (of_tool == tools_.end()) return {};
  const auto found = of_tool->second.parameters.find(parameter);
  return found == of_tool->second.parameters.end() ? ParameterTypes{} : found->second;
}

SchemaPlace ToolSchemas::place(std::string_view tool) const {
  const auto found = tools_.find(tool);
  return found == tools_.end() ? SchemaPlace()
                               : SchemaPlace(found->second.schema, found->second.schema);
}

std::string json_of_value(std::string_view text, const ParameterTypes& types) {
  const std::string_view inner = trimmed(text);
  if (!types.is_string_only()) {
    JsonFault fault;
    std::string spelled(inner);
    auto value = parse_json(spelled, fault);
    if (!value) {
      if (auto python = json_of_python(inner)) {
        spelled = *std::move(python);
        value = parse_json(spelled, fault);
      }
    }
    // Where a string is possible, another type must be, too. Quoted text is a string of its own.
    if (value && (!types.is_known() || fits(*value, types) || !types.string)) return spelled;
  }
  std::string out;
  append_quoted(out, text);
  return out;
}

}  // namespace foretoken
