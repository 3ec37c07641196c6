#include "base/file_fields.h"

#include <utility>

#include <boost/json/serialize.hpp>

#include "base/error.h"

namespace foretoken {
namespace {

std::string shown(const boost::json::value& value) {
  std::string text = boost::json::serialize(value);
  constexpr std::size_t kLongest = 80;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

std::string range_text(IntRange range) {
  return "an integer in [" + std::to_string(range.low) + ", " + std::to_string(range.high) + "]";
}

std::string text_of(JsonType type, IntRange range) {
  switch (type) {
    case JsonType::kBoolean:
      return "true or false";
    case JsonType::kInteger:
      return range_text(range);
    case JsonType::kNumber:
      return "a number";
    case JsonType::kString:
      return "a string";
    case JsonType::kObject:
      return "an object";
    case JsonType::kArray:
      return "a list";
    case JsonType::kIntegers:
      return range_text(range) + " or a list of them";
    case JsonType::kNumbers:
      return "a list of numbers";
    case JsonType::kStrings:
      return "a list of strings";
  }
  return "another value";
}

}  // namespace

std::vector<std::int64_t> FileFields::integers(std::string_view key, IntRange range) const {
  const boost::json::value* value = find(key);
  if (value == nullptr) return {};
  if (value->is_array()) return *JsonFields::integers(key, range);
  const auto number = json_integer(*value);
  if (!number || !range.holds(*number)) wrong_type(key, JsonType::kIntegers, range);
  return {*number};
}

std::int64_t FileFields::required_integer(std::string_view key, IntRange range) const {
  const auto number = integer(key, range);
  if (!number) refuse_missing(key);
  return *number;
}

double FileFields::required_number(std::string_view key) const {
  const auto value = number(key);
  if (!value) refuse_missing(key);
  return *value;
}

void FileFields::refuse(std::string_view key, std::string expected) const {
  const boost::json::value* value = all().if_contains(key);
  throw Error({"bad value of \"" + std::string(key) + "\"", where_, std::move(expected),
               value == nullptr ? "nothing" : shown(*value)});
}

void FileFields::refuse_missing(std::string_view key) const {
  throw Error({"missing key \"" + std::string(key) + "\"", where_, {}, {}});
}

void FileFields::wrong_type(std::string_view key, JsonType expected, IntRange range) const {
  refuse(key, text_of(expected, range));
}

}  // namespace foretoken
