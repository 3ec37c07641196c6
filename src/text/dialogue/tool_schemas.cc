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

// Nested alternatives are looked at a few levels deep: schemas come from outside. root: where
// references begin.
void add_types(const json::value& schema, const json::object& root, ParameterTypes& types,
               int depth) {
  const json::object* object = schema.if_object();
  if (object == nullptr || depth == 0) return;
  if (const json::object* defined = referred_schema(*object, root); defined != nullptr)
    add_types(*defined, root, types, depth - 1);
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
      for (const json::value& inner : list->get_array()) add_types(inner, root, types, depth - 1);
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

ToolSchemas::ToolSchemas(const json::array& tools) {
  constexpr int kDeepest = 4;
  for (const json::value& tool : tools) {
    const json::object& function = tool.at("function").as_object();
    Parameters& parameters = tools_[std::string(function.at("name").as_string())];
    const json::value* schema = function.if_contains("parameters");
    if (schema == nullptr || !schema->is_object()) continue;
    const json::value* properties = schema->get_object().if_contains("properties");
    if (properties == nullptr || !properties->is_object()) continue;
    for (const auto& [name, property] : properties->get_object())
      add_types(property, schema->get_object(), parameters[std::string(name)], kDeepest);
  }
}

ParameterTypes ToolSchemas::types(std::string_view tool, std::string_view parameter) const {
  const auto parameters = tools_.find(tool);
  if (parameters == tools_.end()) return {};
  const auto found = parameters->second.find(parameter);
  return found == parameters->second.end() ? ParameterTypes{} : found->second;
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
