#include "model/json_fields.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/error.h"

namespace foretoken {
namespace {

namespace json = boost::json;

std::string shown(const json::value& value) {
  std::string text = json::serialize(value);
  constexpr std::size_t kLongest = 80;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

// An integer, also when it is written as 4096.0.
std::optional<std::int64_t> integer_of(const json::value& value, IntRange range) {
  std::int64_t number = 0;
  if (value.is_int64()) {
    number = value.get_int64();
  } else if (value.is_double() && std::abs(value.get_double()) < 0x1p53 &&
             std::floor(value.get_double()) == value.get_double()) {
    number = static_cast<std::int64_t>(value.get_double());
  } else {
    return std::nullopt;
  }
  if (number < range.low || number > range.high) return std::nullopt;
  return number;
}

std::optional<double> number_of(const json::value& value) {
  if (value.is_int64()) return static_cast<double>(value.get_int64());
  if (value.is_uint64()) return static_cast<double>(value.get_uint64());
  if (value.is_double() && std::isfinite(value.get_double())) return value.get_double();
  return std::nullopt;
}

std::string range_text(IntRange range) {
  return "an integer in [" + std::to_string(range.low) + ", " + std::to_string(range.high) + "]";
}

}  // namespace

JsonFields::JsonFields(const json::object& object, std::string where)
    : object_(object), where_(std::move(where)) {}

const json::value* JsonFields::find(std::string_view key) const {
  const json::value* value = object_.if_contains(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

bool JsonFields::has_null(std::string_view key) const {
  const json::value* value = object_.if_contains(key);
  return value != nullptr && value->is_null();
}

void JsonFields::refuse(std::string_view key, std::string expected) const {
  const json::value* value = object_.if_contains(key);
  throw Error({"bad value of \"" + std::string(key) + "\"", where_, std::move(expected),
               value == nullptr ? "nothing" : shown(*value)});
}

void JsonFields::refuse_missing(std::string_view key) const {
  throw Error({"missing key \"" + std::string(key) + "\"", where_, {}, {}});
}

std::optional<std::int64_t> JsonFields::integer(std::string_view key, IntRange range) const {
  const json::value* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto number = integer_of(*value, range);
  if (!number) refuse(key, range_text(range));
  return number;
}

std::optional<double> JsonFields::number(std::string_view key) const {
  const json::value* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto number = number_of(*value);
  if (!number) refuse(key, "a number");
  return number;
}

std::optional<bool> JsonFields::flag(std::string_view key) const {
  const json::value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_bool()) refuse(key, "true or false");
  return value->get_bool();
}

std::optional<std::string> JsonFields::text(std::string_view key) const {
  const json::value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) refuse(key, "a string");
  return std::string(value->get_string());
}

std::optional<std::vector<double>> JsonFields::numbers(std::string_view key) const {
  const json::value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) refuse(key, "a list of numbers");
  std::vector<double> list;
  for (const json::value& item : value->get_array()) {
    const auto number = number_of(item);
    if (!number) refuse(key, "a list of numbers");
    list.push_back(*number);
  }
  return list;
}

std::optional<std::vector<std::string>> JsonFields::texts(std::string_view key) const {
  const json::value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) refuse(key, "a list of strings");
  std::vector<std::string> list;
  for (const json::value& item : value->get_array()) {
    if (!item.is_string()) refuse(key, "a list of strings");
    list.emplace_back(item.get_string());
  }
  return list;
}

std::vector<std::int64_t> JsonFields::integers(std::string_view key, IntRange range) const {
  const json::value* value = find(key);
  if (value == nullptr) return {};
  std::vector<std::int64_t> list;
  auto add = [&](const json::value& item) {
    const auto number = integer_of(item, range);
    if (!number) refuse(key, range_text(range) + " or a list of them");
    list.push_back(*number);
  };
  if (value->is_array()) {
    for (const json::value& item : value->get_array()) add(item);
  } else {
    add(*value);
  }
  return list;
}

const json::object* JsonFields::object(std::string_view key) const {
  const json::value* value = find(key);
  if (value == nullptr) return nullptr;
  if (!value->is_object()) refuse(key, "an object");
  return &value->get_object();
}

std::int64_t JsonFields::required_integer(std::string_view key, IntRange range) const {
  const auto number = integer(key, range);
  if (!number) refuse_missing(key);
  return *number;
}

double JsonFields::required_number(std::string_view key) const {
  const auto value = number(key);
  if (!value) refuse_missing(key);
  return *value;
}

json::object read_json_object(std::string_view text, const std::string& where) {
  json::error_code error;
  json::value value = json::parse(text, error);
  if (error) throw Error({"not valid JSON", where, {}, error.message()});
  if (!value.is_object()) throw Error({"wrong JSON", where, "an object", shown(value)});
  return std::move(value.get_object());
}

std::optional<std::string> read_file_if_present(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  std::ifstream stream(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(stream)), {});
  if (!stream) throw Error({"cannot read file", path, {}, {}});
  return bytes;
}

}  // namespace foretoken
