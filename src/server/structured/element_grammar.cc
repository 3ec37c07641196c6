#include "server/structured/element_grammar.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "server/structured/parameter_schema.h"
#include "server/structured/tag_format.h"
#include "text/dialogue/tool_schemas.h"

namespace foretoken {
namespace {

namespace json = boost::json;
using namespace tag_format;

constexpr int kDeepestElement = 8;
constexpr int kMostElements = 1000;  // of a tool; what is beyond is JSON

class Elements {
 public:
  Elements(const CallStyle& style, const BoundTool& tool)
      : family_(style.name), style_(*style.elements), tool_(tool) {}

  Result<json::value> body() {
    auto inside = members(tool_.schema, 0);
    if (!inside) return inside.refusal();
    return in_order({constant(tool_.name + std::string(style_.name_end)), *std::move(inside),
                     white(), constant(style_.call_end)});
  }

 private:
  Result<json::value> members(const json::object& schema, int depth) {
    json::array parts;
    const json::value* properties = schema.if_contains("properties");
    if (properties != nullptr && properties->is_object())
      for (const auto& [name, given] : properties->get_object()) {
        auto one = element(name, given, depth);
        if (!one) return one.refusal();
        json::value next = in_order({white(), *std::move(one)});
        parts.push_back(is_required(schema, name) ? std::move(next) : maybe(std::move(next)));
      }
    if (takes_others(schema)) parts.push_back(any_number_of(in_order({white(), other()})));
    if (parts.empty()) return constant("");
    return in_order(std::move(parts));
  }

  // One that the schema does not name.
  json::value other() const {
    return in_order(
        {enclosed(style_.open, in_order({pattern(kFreeName), constant(style_.tag_end), any_text()}),
                  style_.close),
         pattern(kFreeName), constant(style_.tag_end)});
  }

  Result<json::value> element(std::string_view name, const json::value& given, int depth) {
    auto content = value(name, followed_schema(given, tool_.schema), depth);
    if (!content) return content.refusal();
    return enclosed(fmt::format("{}{}{}", style_.open, name, style_.tag_end), *std::move(content),
                    fmt::format("{}{}{}", style_.close, name, style_.tag_end));
  }

  Result<json::value> value(std::string_view name, const json::object& schema, int depth) {
    const ParameterTypes types = SchemaPlace(schema, tool_.schema).types();
    if (!types.is_known() || types.string) return text(name, schema, types);
    const bool is_one = types.object != types.array &&
                        !(types.number || types.boolean || types.null) && can_be_held(schema) &&
                        depth < kDeepestElement && ++count_ < kMostElements;
    if (is_one)
      if (auto inside = types.array ? entries(schema, depth + 1) : fields(schema, depth + 1))
        return in_order({*std::move(inside), white()});
    return value_of(standalone_schema(schema, tool_.schema));
  }

  Result<json::value> text(std::string_view name, const json::object& schema,
                           const ParameterTypes& types) const {
    if (const auto refusal =
            free_text_refusal(tool_.is_strict, schema, {name, tool_.name, family_}))
      return *refusal;
    json::array ways;
    if (types.is_string_only())
      for (const std::string& named : named_texts(schema)) ways.push_back(constant(named));
    if (ways.empty()) return any_text();
    return any_of(std::move(ways));
  }

  static bool can_be_held(const json::object& schema) {
    const json::object rest = without_members(schema);
    return !rest.contains("enum") && !rest.contains("const") && !keyword_of_texts(rest);
  }

  // Refused: what is to be JSON.
  Result<json::value> fields(const json::object& schema, int depth) {
    const json::value* properties = schema.if_contains("properties");
    if (properties == nullptr || !properties->is_object() || properties->get_object().empty())
      return Refusal{"no fields are named"};
    return members(schema, depth);
  }
  Result<json::value> entries(const json::object& schema, int depth) {
    const json::value* items = schema.if_contains("items");
    if (items == nullptr || !items->is_object()) return Refusal{"the entries are not described"};
    auto one = element(style_.item, *items, depth);
    if (!one) return one.refusal();
    return any_number_of(in_order({white(), *std::move(one)}));
  }

  std::string_view family_;
  const ElementStyle& style_;
  const BoundTool& tool_;
  int count_ = 0;
};

}  // namespace

Result<json::value> element_grammar(const CallStyle& style, std::span<const BoundTool> tools) {
  json::array options;
  for (const BoundTool& tool : tools) {
    auto body = Elements(style, tool).body();
    if (!body) return body.refusal();
    options.push_back(*std::move(body));
  }
  return any_of(std::move(options));
}

}  // namespace foretoken
