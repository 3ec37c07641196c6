#include "server/structured/tagged_grammar.h"

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

constexpr const char* kOtherName = "[A-Za-z_][A-Za-z0-9_.-]{0,63}";

// The texts that a string may be, where the schema names them.
json::array named_texts(const json::object& schema) {
  json::array texts;
  for (const json::value& value : named_values(schema).value_or(json::array()))
    if (value.is_string() && !value.get_string().empty())
      texts.push_back(constant(value.get_string()));
  return texts;
}

class Tagged {
 public:
  Tagged(const CallStyle& style, const BoundTool& tool)
      : family_(style.name),
        style_(*style.tagged),
        tool_(tool),
        types_(json::array{json::object{
            {"function", json::object{{"name", tool.name}, {"parameters", tool.schema}}}}}) {}

  Result<json::value> body() const {
    json::array parts{constant(tool_.name)};
    if (!style_.name_end.empty()) parts.push_back(constant(style_.name_end));
    const json::value* properties = tool_.schema.if_contains("properties");
    if (properties != nullptr && properties->is_object())
      for (const auto& [name, schema] : properties->get_object()) {
        auto one = parameter(name, schema);
        if (!one) return one.refusal();
        parts.push_back(is_required(tool_.schema, name) ? *std::move(one) : maybe(*std::move(one)));
      }
    if (takes_others(tool_.schema)) parts.push_back(others());
    parts.push_back(white());
    parts.push_back(constant(style_.call_end));
    return in_order(std::move(parts));
  }

 private:
  // Parameters that the schema does not name, in lines or one behind the other.
  json::value others() const {
    json::array content{pattern(kOtherName), constant(style_.key_end)};
    if (!style_.value_begin.empty()) {
      content.push_back(white());
      content.push_back(constant(style_.value_begin));
    }
    content.push_back(json::object{{"type", "any_text"}});
    const json::object one{{"type", "tag"},
                           {"begin", style_.key_begin},
                           {"content", in_order(std::move(content))},
                           {"end", style_.value_end}};
    json::array ways;
    for (const char* separator : {"\n", ""})
      ways.push_back(json::object{{"type", "tags_with_separator"},
                                  {"tags", json::array{one}},
                                  {"separator", separator},
                                  {"at_least_one", true}});
    return maybe(in_order({white(), any_of(std::move(ways))}));
  }

  json::value line_break() const { return maybe(constant("\n")); }

  // value: complete, without its mark.
  json::value marked(json::array head, json::value value) const {
    if (!style_.value_begin.empty()) head.push_back(constant(style_.value_begin));
    if (style_.value_in_lines) head.push_back(line_break());
    head.push_back(std::move(value));
    if (style_.value_in_lines) head.push_back(line_break());
    head.push_back(constant(style_.value_end));
    return in_order(std::move(head));
  }

  Result<json::value> parameter(std::string_view name, const json::value& given) const {
    const json::object& schema = followed_schema(given, tool_.schema);
    json::array head{white(),
                     constant(fmt::format("{}{}{}", style_.key_begin, name, style_.key_end))};
    if (!style_.value_begin.empty()) head.push_back(white());
    const ParameterTypes types = types_.types(tool_.name, name);
    if (types.is_known() && !types.string)
      return marked(std::move(head), value_of(standalone_schema(schema, tool_.schema)));
    if (tool_.is_strict)
      if (const auto keyword = keyword_of_texts(schema))
        return Refusal{fmt::format(
            "the parameter '{}' of the strict tool '{}' cannot be held to \"{}\" in the format of "
            "{}",
            name, tool_.name, *keyword, family_)};
    if (types.is_string_only())
      if (json::array texts = named_texts(schema); !texts.empty())
        return marked(std::move(head), any_of(std::move(texts)));
    head.push_back(text_until(style_.value_begin, style_.value_end));
    return in_order(std::move(head));
  }

  std::string_view family_;
  const TaggedStyle& style_;
  const BoundTool& tool_;
  const ToolSchemas types_;
};

}  // namespace

Result<json::value> tagged_grammar(const CallStyle& style, std::span<const BoundTool> tools) {
  json::array options;
  for (const BoundTool& tool : tools) {
    auto body = Tagged(style, tool).body();
    if (!body) return body.refusal();
    options.push_back(*std::move(body));
  }
  return any_of(std::move(options));
}

}  // namespace foretoken
