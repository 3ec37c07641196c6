#include "server/structured/python_grammar.h"

#include <string>
#include <utility>
#include <vector>

#include "server/structured/parameter_schema.h"
#include "server/structured/schema_order.h"
#include "server/structured/tag_format.h"
#include "text/dialogue/tool_schemas.h"

namespace foretoken {
namespace {

namespace json = boost::json;
using namespace tag_format;

constexpr int kMostOthers = 8;  // parameters that no schema names
constexpr const char* kName = "[A-Za-z_][A-Za-z0-9_]{0,63}";
constexpr const char* kSingleQuoted = R"('([^'\\\n\r]|\\['"\\nrt])*')";

json::value comma() { return any_of({constant(", "), constant(",")}); }

// A value that is named; texts in either quotes.
json::value literal(const json::value& value) {
  if (value.is_bool()) return constant(value.get_bool() ? "True" : "False");
  if (value.is_null()) return constant("None");
  json::value as_json = value_of({{"const", value}});
  if (!value.is_string() ||
      std::string_view(value.get_string()).find_first_of("'\\\n\r") != std::string_view::npos)
    return as_json;
  return any_of({std::move(as_json), constant("'" + std::string(value.get_string()) + "'")});
}

json::value value_by(const json::object& schema, const ParameterTypes& types,
                     const json::object& of_tool) {
  json::array ways;
  if (const auto named = named_values(schema)) {
    for (const json::value& value : *named) ways.push_back(literal(value));
    if (!ways.empty()) return any_of(std::move(ways));
  }
  const bool is_any = !types.is_known();
  if (is_any || types.boolean) {
    ways.push_back(constant("True"));
    ways.push_back(constant("False"));
  }
  if (is_any || types.null) ways.push_back(constant("None"));
  if ((is_any || types.string) && !keyword_of_texts(schema)) ways.push_back(pattern(kSingleQuoted));
  if (is_any || types.string || types.number || types.object || types.array)
    ways.push_back(value_of(standalone_schema(schema, of_tool)));
  return any_of(std::move(ways));
}

// name=value, name=value, ... for a tool that names none.
json::value others() {
  json::value more;
  for (int i = 0; i < kMostOthers; ++i) {
    json::array one{pattern(kName), constant("="), value_by({}, {}, {})};
    if (i > 0) one.push_back(maybe(in_order({comma(), std::move(more)})));
    more = in_order(std::move(one));
  }
  return maybe(std::move(more));
}

Result<json::value> arguments(const BoundTool& tool) {
  const ToolSchemas types(json::array{
      json::object{{"function", json::object{{"name", tool.name}, {"parameters", tool.schema}}}}});
  std::vector<OrderedParameter> parameters;
  const json::value* properties = tool.schema.if_contains("properties");
  if (properties != nullptr && properties->is_object())
    for (const auto& [name, given] : properties->get_object()) {
      const auto& schema = followed_schema(given, tool.schema);
      parameters.push_back({in_order({constant(std::string(name) + "="),
                                      value_by(schema, types.types(tool.name, name), tool.schema)}),
                            is_required(tool.schema, name)});
    }
  if (parameters.empty() && takes_others(tool.schema)) return others();
  return in_schema_order(tool.name, parameters, comma());
}

}  // namespace

Result<json::value> python_grammar(std::span<const BoundTool> tools) {
  json::array calls;
  for (const BoundTool& tool : tools) {
    auto content = arguments(tool);
    if (!content) return content.refusal();
    calls.push_back(json::object{
        {"type", "tag"},
        {"begin", ""},
        {"content", in_order({white(), constant(tool.name + "("), *std::move(content)})},
        {"end", ")"}});
  }
  return in_order({constant("["),
                   json::object{{"type", "tags_with_separator"},
                                {"tags", std::move(calls)},
                                {"separator", ","},
                                {"at_least_one", true}},
                   white(), constant("]")});
}

}  // namespace foretoken
