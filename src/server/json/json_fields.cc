#include "server/json/json_fields.h"

#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "server/json/lone_surrogates.h"

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr IntRange kTokens{std::numeric_limits<Token>::min(), std::numeric_limits<Token>::max()};

// pydantic's words.
std::string_view words_for(JsonType type) {
  switch (type) {
    case JsonType::kBoolean:
      return "boolean";
    case JsonType::kInteger:
      return "integer";
    case JsonType::kNumber:
      return "number";
    case JsonType::kString:
      return "string";
    case JsonType::kObject:
      return "dictionary";
    case JsonType::kArray:
      return "list";
    case JsonType::kIntegers:
      return "list of integers";
    case JsonType::kNumbers:
      return "list of numbers";
    case JsonType::kStrings:
      return "string or list of strings";
  }
  return "value";
}

}  // namespace

Result<json::object> parse_json_object(std::string_view body) {
  if (body.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return Refusal{"the request body is empty: expected a JSON object"};
  JsonFault fault;
  auto value = parse_json(body, fault);
  if (!value) {
    const std::string mended = without_lone_surrogates(body);
    if (mended != body) value = parse_json(mended, fault);
  }
  if (!value)
    return Refusal{fmt::format("malformed JSON near byte {}: {}", fault.byte, fault.reason)};
  if (!value->is_object())
    return Refusal{
        fmt::format("body: Input should be a valid dictionary (found {})", json_kind(*value))};
  return std::move(value->get_object());
}

std::string python_float(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::optional<bool> Fields::boolean(std::string_view name) {
  const json::value* value = find(name);
  const auto number = value == nullptr ? std::nullopt : json_integer(*value);
  if (number && (*number == 0 || *number == 1)) return *number == 1;
  return JsonFields::boolean(name);
}

std::optional<std::int64_t> Fields::integer(std::string_view name) {
  return JsonFields::integer(name, kAnyInteger);
}

std::optional<double> Fields::number(std::string_view name) {
  const json::value* value = find(name);
  if (value != nullptr && value->is_double()) return value->get_double();
  return JsonFields::number(name);
}

std::optional<std::uint64_t> Fields::seed(std::string_view name) {
  const json::value* value = find(name);
  if (value != nullptr && value->is_uint64()) return value->get_uint64();
  const auto number = integer(name);
  if (!number) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

std::optional<std::vector<std::string>> Fields::strings(std::string_view name) {
  const json::value* value = find(name);
  if (value != nullptr && value->is_string())
    return std::vector<std::string>{std::string(value->get_string())};
  return JsonFields::strings(name);
}

std::optional<std::vector<Token>> Fields::tokens(std::string_view name) {
  const json::array* list = array(name);
  if (list == nullptr) return std::nullopt;
  auto out = token_list(*list);
  if (!out) wrong_type(name, JsonType::kIntegers, kTokens);
  return out;
}

std::string Fields::shown(std::string_view name) const {
  const json::value* value = find(name);
  if (value == nullptr) return "None";
  if (value->is_double()) return python_float(value->get_double());
  return json::serialize(*value);
}

void Fields::require(std::string_view name) {
  if (!has(name)) refuse_field(name, "Field required");
}

void Fields::refuse(std::string message, int status) {
  if (!fault_) fault_ = Refusal{std::move(message), status};
}

void Fields::refuse_field(std::string_view name, std::string_view message) {
  record(name, message);
}

void Fields::refuse_unsupported(std::initializer_list<std::string_view> names,
                                std::string_view reason) {
  for (const auto name : names)
    if (const json::value* value = find(name); value != nullptr && !is_empty_value(*value))
      refuse(fmt::format("{} is not supported: {}", name, reason));
}

void Fields::wrong_type(std::string_view name, JsonType expected, IntRange) const {
  const json::value& value = *find(name);
  record(name, fmt::format("Input should be a valid {} (found {})", words_for(expected),
                           json_kind(value)));
}

void Fields::record(std::string_view name, std::string_view message) const {
  if (!fault_) fault_ = Refusal{fmt::format("{}.{}: {}", path_, name, message)};
}

bool is_empty_value(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return true;
    case json::kind::bool_:
      return !value.get_bool();
    case json::kind::string:
      return value.get_string().empty();
    case json::kind::array:
      return value.get_array().empty();
    case json::kind::object:
      return value.get_object().empty();
    case json::kind::int64:
      return value.get_int64() == 0;
    default:
      return false;
  }
}

std::optional<std::vector<Token>> token_list(const json::array& array) {
  std::vector<Token> out;
  out.reserve(array.size());
  for (const auto& item : array) {
    const auto number = json_integer(item);
    if (!number || !kTokens.holds(*number)) return std::nullopt;
    out.push_back(static_cast<Token>(*number));
  }
  return out;
}

}  // namespace foretoken
