#include "server/structured/grammar_request.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

namespace foretoken {
namespace {

namespace json = boost::json;
using Kind = GrammarSpec::Kind;

constexpr std::string_view kAnyObject = R"({"type":"object"})";

// A field whose value is a specification.
struct GrammarField {
  std::string_view name;
  Kind kind;
};

constexpr GrammarField kNative[] = {{"json_schema", Kind::kJsonSchema},
                                    {"regex", Kind::kRegex},
                                    {"ebnf", Kind::kEbnf},
                                    {"structural_tag", Kind::kStructuralTag}};
constexpr GrammarField kGuided[] = {{"guided_json", Kind::kJsonSchema},
                                    {"guided_regex", Kind::kRegex},
                                    {"guided_choice", Kind::kChoice},
                                    {"guided_grammar", Kind::kEbnf}};
constexpr GrammarField kStructured[] = {{"json", Kind::kJsonSchema},
                                        {"regex", Kind::kRegex},
                                        {"choice", Kind::kChoice},
                                        {"grammar", Kind::kEbnf},
                                        {"structural_tag", Kind::kStructuralTag}};

class Reader {
 public:
  Reader(Fields& fields, const JsonLayout& layout) : fields_(fields), layout_(layout) {}

  std::optional<GrammarRequest> read() {
    read_sources(fields_, kNative, "");
    read_sources(fields_, kGuided, "");
    read_response_format();
    read_structured_outputs();
    if (auto pattern = fields_.string("guided_whitespace_pattern")) own_pattern_ = pattern;
    if (found_.size() > 1) {
      const auto is_native = [](const GrammarRequest& request) {
        return std::ranges::any_of(
            kNative, [&](const GrammarField& source) { return source.name == request.field; });
      };
      fields_.refuse(
          std::ranges::all_of(found_, is_native)
              ? "Only one of json_schema, regex, ebnf, or structural_tag can be set."
              : fmt::format("only one of {} and {} can be set", found_[0].field, found_[1].field));
    }
    if (found_.empty() || !fields_.ok()) return std::nullopt;
    GrammarSpec& spec = found_[0].spec;
    if (own_pattern_) spec.layout = {.whitespace_pattern = own_pattern_};
    // JSON in which white space is free may end in some, too.
    if (spec.kind == Kind::kJsonSchema && spec.layout == JsonLayout{})
      spec.tail = GrammarSpec::Tail::kWhite;
    return std::move(found_[0]);
  }

 private:
  void add(Kind kind, std::string source, std::string field) {
    found_.push_back({.spec = {.kind = kind, .source = std::move(source), .layout = layout_},
                      .field = std::move(field)});
  }

  void read_sources(Fields& fields, std::span<const GrammarField> sources,
                    const std::string& prefix) {
    for (const auto& [name, kind] : sources) {
      const json::value* value = fields.find(name);
      if (value == nullptr || value->is_null()) continue;
      const bool is_text = value->is_string();
      if (is_text ? value->get_string().empty() : value->is_array() && value->get_array().empty()) {
        fields.refuse_field(name,
                            "it is empty, so it allows no text (null, or no such field, "
                            "leaves the text free)");
        continue;
      }
      const bool may_be_json = kind == Kind::kJsonSchema || kind == Kind::kStructuralTag;
      if (kind == Kind::kChoice ? value->is_array() : is_text)
        add(kind, is_text ? std::string(value->get_string()) : json::serialize(*value),
            prefix + std::string(name));
      else if (may_be_json && (value->is_object() || value->is_bool()))
        add(kind, json::serialize(*value), prefix + std::string(name));
      else
        fields.refuse_field(name, fmt::format("Input should be {} (found {})",
                                              kind == Kind::kChoice ? "a list of strings"
                                              : may_be_json         ? "a string or a dictionary"
                                                                    : "a valid string",
                                              json_kind(*value)));
    }
  }

  void read_response_format() {
    const json::object* format = fields_.object("response_format");
    if (format == nullptr) return;
    Fields inner(*format, fields_.path() + ".response_format", fields_.fault());
    inner.require("type");
    const std::string type = inner.string("type").value_or("");
    if (type == "json_object") {
      if (inner.has("schema")) return add_schema(inner);
      add(Kind::kJsonSchema, std::string(kAnyObject), "response_format");
    } else if (type == "json_schema") {
      if (!inner.has("json_schema") && inner.has("schema")) return add_schema(inner);
      inner.require("json_schema");
      const json::object* wrapped = inner.object("json_schema");
      if (wrapped == nullptr) return;
      Fields named(*wrapped, inner.path() + ".json_schema", fields_.fault());
      named.string("name");
      named.plain_boolean("strict");
      add_schema(named);
    } else if (type == "structural_tag") {
      add(Kind::kStructuralTag, json::serialize(*format), "response_format");
    } else if (type != "text") {
      inner.refuse_field(
          "type", "Input should be 'text', 'json_object', 'json_schema' or 'structural_tag'");
    }
  }

  // The `schema` of a response_format: within json_schema, or beside the type, where llama.cpp and
  // others have it.
  void add_schema(Fields& holder) {
    const json::value* schema = holder.find("schema");
    if (schema == nullptr) return holder.require("schema");
    if (!schema->is_object() && !schema->is_bool())
      return holder.refuse_field(
          "schema", fmt::format("Input should be a dictionary (found {})", json_kind(*schema)));
    add(Kind::kJsonSchema, json::serialize(*schema), "response_format");
  }

  void read_structured_outputs() {
    if (fields_.boolean("guided_json_object").value_or(false))
      add(Kind::kJsonSchema, std::string(kAnyObject), "guided_json_object");
    const json::object* wanted = fields_.object("structured_outputs");
    if (wanted == nullptr) return;
    Fields inner(*wanted, fields_.path() + ".structured_outputs", fields_.fault());
    read_sources(inner, kStructured, "structured_outputs.");
    if (inner.boolean("json_object").value_or(false))
      add(Kind::kJsonSchema, std::string(kAnyObject), "structured_outputs.json_object");
    if (auto pattern = inner.string("whitespace_pattern")) own_pattern_ = pattern;
    if (inner.boolean("disable_any_whitespace").value_or(false))
      for (auto& request : found_) request.spec.layout.is_compact = true;
    inner.refuse_unsupported({"disable_additional_properties"},
                             "say \"additionalProperties\": false in the schema");
  }

  Fields& fields_;
  const JsonLayout& layout_;
  std::vector<GrammarRequest> found_;
  std::optional<std::string> own_pattern_;
};

}  // namespace

std::optional<GrammarRequest> read_grammar(Fields& fields, const JsonLayout& layout) {
  return Reader(fields, layout).read();
}

}  // namespace foretoken
