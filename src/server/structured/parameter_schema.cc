#include "server/structured/parameter_schema.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "text/dialogue/tool_schemas.h"

namespace foretoken {

namespace json = boost::json;

const json::object& followed_schema(const json::value& given, const json::object& of_tool) {
  static const json::object any;
  constexpr int kDeepest = 4;
  const json::object* schema = given.is_object() ? &given.get_object() : &any;
  for (int i = 0; i < kDeepest; ++i)
    if (const auto* defined = referred_schema(*schema, of_tool); defined != nullptr)
      schema = defined;
  return *schema;
}

json::object standalone_schema(const json::object& schema, const json::object& of_tool) {
  json::object whole = schema;
  for (const char* list : {"$defs", "definitions"})
    if (const json::value* all = of_tool.if_contains(list); all != nullptr) whole[list] = *all;
  return whole;
}

bool is_required(const json::object& of_tool, std::string_view parameter) {
  const json::value* names = of_tool.if_contains("required");
  return names != nullptr && names->is_array() &&
         std::ranges::any_of(names->get_array(), [&](const json::value& each) {
           return each.is_string() && std::string_view(each.get_string()) == parameter;
         });
}

bool takes_others(const json::object& of_tool) {
  const json::value* more = of_tool.if_contains("additionalProperties");
  return more == nullptr || (more->is_bool() && more->get_bool());
}

std::optional<json::array> named_values(const json::object& schema) {
  if (const json::value* value = schema.if_contains("const"); value != nullptr)
    return json::array{*value};
  if (const json::value* list = schema.if_contains("enum"); list != nullptr && list->is_array())
    return list->get_array();
  return std::nullopt;
}

std::optional<std::string> keyword_of_texts(const json::object& schema) {
  constexpr std::array<std::string_view, 7> kHarmless{"type",     "description", "title", "default",
                                                      "examples", "enum",        "const"};
  for (const auto& [key, value] : schema)
    if (std::ranges::count(kHarmless, std::string_view(key)) == 0) return std::string(key);
  return std::nullopt;
}

std::vector<std::string> named_texts(const json::object& schema) {
  std::vector<std::string> texts;
  for (const json::value& value : named_values(schema).value_or(json::array()))
    if (value.is_string() && !value.get_string().empty()) texts.emplace_back(value.get_string());
  return texts;
}

std::optional<Refusal> free_text_refusal(bool is_strict, const json::object& schema,
                                         const ParameterPlace& place) {
  const auto keyword = is_strict ? keyword_of_texts(schema) : std::nullopt;
  if (!keyword) return std::nullopt;
  return Refusal{fmt::format(
      "the parameter '{}' of the strict tool '{}' cannot be held to \"{}\" in the format of {}",
      place.parameter, place.tool, *keyword, place.family)};
}

boost::json::object without_members(const boost::json::object& schema) {
  boost::json::object rest = schema;
  for (const char* key :
       {"properties", "required", "additionalProperties", "items", "$defs", "definitions"})
    rest.erase(key);
  return rest;
}

}  // namespace foretoken
