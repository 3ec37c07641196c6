#include "server/structured/loose_grammar.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <boost/json/serialize.hpp>

#include "server/structured/parameter_schema.h"
#include "server/structured/schema_order.h"
#include "server/structured/tag_format.h"
#include "text/dialogue/tool_schemas.h"

namespace foretoken {
namespace {

namespace json = boost::json;
using namespace tag_format;

constexpr int kDeepestDescribed = 4;  // of what a schema describes
constexpr int kDeepestAny = 3;        // of what it does not
constexpr int kMostValues = 500;      // of a tool

class Loose {
 public:
  Loose(const CallStyle& style, const BoundTool& tool)
      : family_(style.name), style_(*style.loose), tool_(tool) {}

  Result<json::value> body() {
    auto arguments = object(tool_.schema, 0);
    if (!arguments) return arguments.refusal();
    return in_order({constant(tool_.name), *std::move(arguments)});
  }

 private:
  json::value text() const { return text_until(style_.quote, style_.quote); }

  static json::value listed(json::value begin, json::value one, std::string_view end) {
    json::value more = any_number_of(in_order({comma(), one}));
    return in_order({std::move(begin), white(),
                     maybe(in_order({std::move(one), std::move(more), white()})), constant(end)});
  }
  static json::value comma() { return any_of({constant(", "), constant(",")}); }
  static json::value colon() { return any_of({constant(": "), constant(":")}); }

  // A value of which no schema says anything.
  json::value any(int depth) const {
    json::array ways{text(), value_of({{"type", {"number", "boolean", "null"}}})};
    if (depth < kDeepestAny) {
      ways.push_back(listed(constant("["), any(depth + 1), "]"));
      ways.push_back(any_object(depth + 1));
    }
    return any_of(std::move(ways));
  }
  json::value any_object(int depth) const {
    return listed(constant("{"), in_order({pattern(kFreeName), colon(), any(depth)}), "}");
  }

  std::optional<Refusal> unheld(const json::object& schema, std::string_view name) const {
    return free_text_refusal(tool_.is_strict, without_members(schema), {name, tool_.name, family_});
  }

  Result<json::value> object(const json::object& schema, int depth) {
    const json::value* properties = schema.if_contains("properties");
    const bool has_names =
        properties != nullptr && properties->is_object() && !properties->get_object().empty();
    if (!has_names && takes_others(schema)) return any_object(depth < 1 ? 1 : kDeepestAny);
    std::vector<OrderedParameter> fields;
    if (has_names)
      for (const auto& [name, given] : properties->get_object()) {
        auto one = value(name, given, depth);
        if (!one) return one.refusal();
        fields.push_back(
            {in_order({constant(name), colon(), *std::move(one)}), is_required(schema, name)});
      }
    auto inside = in_schema_order(tool_.name, fields, comma());
    if (!inside) return inside.refusal();
    return in_order({constant("{"), white(), *std::move(inside), white(), constant("}")});
  }

  Result<json::value> list(std::string_view name, const json::object& schema, int depth) {
    const json::value* items = schema.if_contains("items");
    if (items == nullptr || !items->is_object())
      return listed(constant("["), any(kDeepestAny), "]");
    auto one = value(name, *items, depth);
    if (!one) return one.refusal();
    return listed(constant("["), *std::move(one), "]");
  }

  Result<json::value> value(std::string_view name, const json::value& given, int depth) {
    const json::object& schema = followed_schema(given, tool_.schema);
    if (depth == kDeepestDescribed || ++count_ > kMostValues) {
      if (tool_.is_strict)
        return Refusal{fmt::format("the strict tool '{}' nests its parameters too deep for {}",
                                   tool_.name, family_)};
      return any(kDeepestAny - 1);
    }
    for (const char* key : {"anyOf", "oneOf"})
      if (const json::value* list = schema.if_contains(key); list != nullptr && list->is_array())
        return alternatives(name, list->get_array(), depth);
    json::array ways;
    for (const json::value& each : named_values(schema).value_or(json::array())) {
      if (each.is_string())
        ways.push_back(constant(fmt::format("{}{}{}", style_.quote,
                                            std::string_view(each.get_string()), style_.quote)));
      else if (!each.is_object() && !each.is_array())
        ways.push_back(constant(json::serialize(each)));
    }
    if (!ways.empty()) return any_of(std::move(ways));
    return by_type(name, schema, depth);
  }

  Result<json::value> alternatives(std::string_view name, const json::array& list, int depth) {
    json::array ways;
    for (const json::value& each : list) {
      auto one = value(name, each, depth + 1);
      if (!one) return one.refusal();
      ways.push_back(*std::move(one));
    }
    if (ways.empty()) return any(kDeepestAny - 1);
    return any_of(std::move(ways));
  }

  Result<json::value> by_type(std::string_view name, const json::object& schema, int depth) {
    const ParameterTypes types = SchemaPlace(schema, tool_.schema).types();
    if (types.string || types.array || types.object || !types.is_known())
      if (const auto refusal = unheld(schema, name)) return *refusal;
    if (!types.is_known()) return any(kDeepestAny - 1);
    json::array ways;
    if (types.string) ways.push_back(text());
    if (types.boolean) ways.push_back(any_of({constant("true"), constant("false")}));
    if (types.null) ways.push_back(constant("null"));
    if (types.number) ways.push_back(number(schema));
    if (types.array) {
      auto one = list(name, schema, depth + 1);
      if (!one) return one.refusal();
      ways.push_back(*std::move(one));
    }
    if (types.object) {
      auto one = object(schema, depth + 1);
      if (!one) return one.refusal();
      ways.push_back(*std::move(one));
    }
    return any_of(std::move(ways));
  }

  json::value number(const json::object& schema) const {
    const json::object narrowed{{"allOf", {schema, {{"type", "number"}}}}};
    return value_of(standalone_schema(narrowed, tool_.schema));
  }

  std::string_view family_;
  const LooseStyle& style_;
  const BoundTool& tool_;
  int count_ = 0;
};

}  // namespace

Result<json::value> loose_grammar(const CallStyle& style, std::span<const BoundTool> tools) {
  json::array options;
  for (const BoundTool& tool : tools) {
    auto body = Loose(style, tool).body();
    if (!body) return body.refusal();
    options.push_back(*std::move(body));
  }
  return any_of(std::move(options));
}

}  // namespace foretoken
