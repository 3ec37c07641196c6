#include "server/structured/tagged_grammar.h"

#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "server/structured/parameter_schema.h"
#include "server/structured/tag_format.h"
#include "text/dialogue/mark_escape.h"
#include "text/dialogue/tool_schemas.h"

namespace foretoken {
namespace {

namespace json = boost::json;
using namespace tag_format;

class Tagged {
 public:
  Tagged(const CallStyle& style, const BoundTool& tool)
      : family_(style.name),
        style_(*style.tagged),
        tool_(tool),
        types_(json::array{json::object{
            {"function", json::object{{"name", tool.name}, {"parameters", tool.schema}}}}}) {}

  Result<json::value> body() const {
    json::array parts{constant(spelled(tool_.name))};
    json::value mark = constant(style_.name_end);
    if (style_.name_end_may_miss) mark = maybe(std::move(mark));
    if (!style_.name_end.empty()) parts.push_back(std::move(mark));
    if (!style_.rest.empty()) parts.push_back(pattern(style_.rest));
    if (!style_.rest_end.empty()) parts.push_back(constant(style_.rest_end));
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
    json::array content{pattern(kFreeName), constant(style_.key_end)};
    if (!style_.value_begin.empty()) {
      content.push_back(white());
      content.push_back(constant(style_.value_begin));
    }
    content.push_back(style_.kind ? other_by_kind() : any_text());
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

  // A string, or any other value.
  json::value other_by_kind() const {
    json::array ways{
        in_order({constant(style_.kind->text), constant(style_.kind->end), any_text()})};
    for (const char* type : {"number", "boolean", "null", "array", "object"})
      ways.push_back(in_order(
          {constant(kind_word(type)), constant(style_.kind->end), value_of({{"type", type}})}));
    return any_of(std::move(ways));
  }

  std::string spelled(std::string_view name) const {
    return style_.escapes_names ? escaped_marks(name) : std::string(name);
  }

  std::string_view kind_word(std::string_view type) const {
    return style_.kind->other.empty() ? type : style_.kind->other;
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
    json::array head{
        white(), constant(fmt::format("{}{}{}", style_.key_begin, spelled(name), style_.key_end))};
    if (!style_.value_begin.empty()) head.push_back(white());
    const ParameterTypes types = types_.types(tool_.name, name);
    if (style_.kind) return by_kind(std::move(head), name, schema, types);
    if (types.is_known() && !types.string)
      return marked(std::move(head), value_of(standalone_schema(schema, tool_.schema)));
    if (const auto refusal =
            free_text_refusal(tool_.is_strict, schema, {name, tool_.name, family_}))
      return *refusal;
    if (types.is_string_only())
      if (const auto texts = named_texts(schema); !texts.empty()) {
        json::array ways;
        for (const std::string& text : texts) ways.push_back(constant(text));
        return marked(std::move(head), any_of(std::move(ways)));
      }
    head.push_back(text_until(style_.value_begin, style_.value_end));
    return in_order(std::move(head));
  }

  // The word for each type that the value may be of, and the value behind it.
  Result<json::value> by_kind(json::array head, std::string_view name, const json::object& schema,
                              const ParameterTypes& types) const {
    const bool is_any = !types.is_known();
    json::array ways;
    const auto add = [&](std::string_view word, json::value value) {
      ways.push_back(in_order({constant(word), constant(style_.kind->end), std::move(value)}));
    };
    if (is_any || types.string) {
      const auto texts = named_texts(schema);
      const auto refusal = free_text_refusal(tool_.is_strict, schema, {name, tool_.name, family_});
      if (refusal && texts.empty()) return *refusal;
      for (const std::string& text : texts)
        add(style_.kind->text, constant(text + std::string(style_.value_end)));
      if (texts.empty()) add(style_.kind->text, text_until("", style_.value_end));
    }
    const std::array<std::pair<bool, const char*>, 5> others{{{types.number, "number"},
                                                              {types.boolean, "boolean"},
                                                              {types.null, "null"},
                                                              {types.array, "array"},
                                                              {types.object, "object"}}};
    for (const auto& [may_be, type] : others) {
      if (!is_any && !may_be) continue;
      const json::object of_type{{"allOf", {schema, {{"type", type}}}}};
      add(kind_word(type), in_order({value_of(standalone_schema(of_type, tool_.schema)),
                                     constant(style_.value_end)}));
    }
    head.push_back(any_of(std::move(ways)));
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
