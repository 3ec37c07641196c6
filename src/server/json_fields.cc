#include "server/json_fields.h"

#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <boost/json/serialize.hpp>
#include <boost/json/stream_parser.hpp>
#include <boost/json/value.hpp>

namespace foretoken {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxDepth = 64;

// Integers, and floats without a fraction, as pydantic accepts them.
std::optional<std::int64_t> as_integer(const json::value& value) {
  if (value.is_int64()) return value.get_int64();
  if (value.is_double()) {
    const double number = value.get_double();
    if (std::trunc(number) == number && std::fabs(number) < 9.0e15)
      return static_cast<std::int64_t>(number);
  }
  return std::nullopt;
}

bool is_empty(const json::value& value) {
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

}  // namespace

Result<json::object> parse_json_object(std::string_view body) {
  if (body.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return Refusal{"the request body is empty: expected a JSON object"};
  json::parse_options options;
  options.max_depth = kMaxDepth;
  json::stream_parser parser({}, options);
  boost::system::error_code error;
  std::size_t used = parser.write(body.data(), body.size(), error);
  if (!error) parser.finish(error);
  if (error) {
    if (used == 0) used = body.size();
    return Refusal{fmt::format("malformed JSON near byte {}: {}", used, error.message())};
  }
  json::value value = parser.release();
  if (!value.is_object())
    return Refusal{
        fmt::format("body: Input should be a valid dictionary (found {})", json_kind(value))};
  return std::move(value.get_object());
}

std::string_view json_kind(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "boolean";
    case json::kind::int64:
    case json::kind::uint64:
      return "integer";
    case json::kind::double_:
      return "number";
    case json::kind::string:
      return "string";
    case json::kind::array:
      return "list";
    case json::kind::object:
      return "object";
  }
  return "value";
}

std::string python_float(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

const json::value* Fields::find(std::string_view name) const {
  const json::value* value = object_.if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::optional<bool> Fields::boolean(std::string_view name) {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_bool()) return value->get_bool();
  if (const auto number = as_integer(*value); number && (*number == 0 || *number == 1))
    return *number == 1;
  wrong_type(name, "boolean");
  return std::nullopt;
}

std::optional<double> Fields::number(std::string_view name) {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_double()) return value->get_double();
  if (value->is_int64()) return static_cast<double>(value->get_int64());
  if (value->is_uint64()) return static_cast<double>(value->get_uint64());
  wrong_type(name, "number");
  return std::nullopt;
}

std::optional<std::int64_t> Fields::integer(std::string_view name) {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (const auto number = as_integer(*value)) return number;
  wrong_type(name, "integer");
  return std::nullopt;
}

std::optional<std::uint64_t> Fields::seed(std::string_view name) {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_uint64()) return value->get_uint64();
  if (const auto number = as_integer(*value)) return static_cast<std::uint64_t>(*number);
  wrong_type(name, "64-bit integer");
  return std::nullopt;
}

std::optional<std::string> Fields::string(std::string_view name) {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return std::string(value->get_string());
  wrong_type(name, "string");
  return std::nullopt;
}

std::optional<std::vector<std::string>> Fields::strings(std::string_view name) {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  std::vector<std::string> out;
  if (value->is_string()) {
    out.emplace_back(value->get_string());
    return out;
  }
  if (value->is_array()) {
    for (const auto& item : value->get_array()) {
      if (!item.is_string()) {
        wrong_type(name, "string or list of strings");
        return std::nullopt;
      }
      out.emplace_back(item.get_string());
    }
    return out;
  }
  wrong_type(name, "string or list of strings");
  return std::nullopt;
}

std::optional<std::vector<Token>> Fields::tokens(std::string_view name) {
  const json::array* list = array(name);
  if (list == nullptr) return std::nullopt;
  auto out = token_list(*list);
  if (!out) wrong_type(name, "list of integers");
  return out;
}

const json::object* Fields::object(std::string_view name) {
  const json::value* value = find(name);
  if (value == nullptr) return nullptr;
  if (value->is_object()) return &value->get_object();
  wrong_type(name, "dictionary");
  return nullptr;
}

const json::array* Fields::array(std::string_view name) {
  const json::value* value = find(name);
  if (value == nullptr) return nullptr;
  if (value->is_array()) return &value->get_array();
  wrong_type(name, "list");
  return nullptr;
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
  refuse(fmt::format("{}.{}: {}", path_, name, message));
}

void Fields::refuse_unsupported(std::initializer_list<std::string_view> names,
                                std::string_view reason) {
  for (const auto name : names)
    if (const json::value* value = find(name); value != nullptr && !is_empty(*value))
      refuse(fmt::format("{} is not supported: {}", name, reason));
}

void Fields::wrong_type(std::string_view name, std::string_view expected) {
  refuse_field(
      name, fmt::format("Input should be a valid {} (found {})", expected, json_kind(*find(name))));
}

std::optional<std::vector<Token>> token_list(const json::array& array) {
  std::vector<Token> out;
  out.reserve(array.size());
  for (const auto& item : array) {
    const auto number = as_integer(item);
    if (!number || *number < std::numeric_limits<Token>::min() ||
        *number > std::numeric_limits<Token>::max())
      return std::nullopt;
    out.push_back(static_cast<Token>(*number));
  }
  return out;
}

}  // namespace foretoken
