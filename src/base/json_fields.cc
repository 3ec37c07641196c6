#include "base/json_fields.h"

#include <cmath>
#include <utility>

namespace foretoken {
namespace {

namespace json = boost::json;

std::optional<std::string> string_of(const json::value& value) {
  if (!value.is_string()) return std::nullopt;
  return std::string(value.get_string());
}

// Reads an integer that lies in the range.
auto in_range(IntRange range) {
  return [range](const json::value& value) -> std::optional<std::int64_t> {
    const auto number = json_integer(value);
    return number && range.holds(*number) ? number : std::nullopt;
  };
}

}  // namespace

std::optional<std::int64_t> json_integer(const json::value& value) {
  if (value.is_int64()) return value.get_int64();
  // Above 2^53 a double is no longer the number that was written.
  if (value.is_double() && std::abs(value.get_double()) < 0x1p53 &&
      std::floor(value.get_double()) == value.get_double())
    return static_cast<std::int64_t>(value.get_double());
  return std::nullopt;
}

std::optional<double> json_number(const json::value& value) {
  if (value.is_int64()) return static_cast<double>(value.get_int64());
  if (value.is_uint64()) return static_cast<double>(value.get_uint64());
  if (value.is_double() && std::isfinite(value.get_double())) return value.get_double();
  return std::nullopt;
}

const json::value* JsonFields::find(std::string_view name) const {
  const json::value* value = object_.if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

bool JsonFields::has_null(std::string_view name) const {
  const json::value* value = object_.if_contains(name);
  return value != nullptr && value->is_null();
}

template <typename T, typename Read>
std::optional<T> JsonFields::read(std::string_view name, JsonType type, IntRange range,
                                  Read read) const {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  std::optional<T> result = read(*value);
  if (!result) wrong_type(name, type, range);
  return result;
}

template <typename T, typename Read>
std::optional<std::vector<T>> JsonFields::read_list(std::string_view name, JsonType type,
                                                    IntRange range, Read read) const {
  return this->read<std::vector<T>>(name, type, range,
                                    [&](const json::value& value) -> std::optional<std::vector<T>> {
                                      if (!value.is_array()) return std::nullopt;
                                      std::vector<T> list;
                                      list.reserve(value.get_array().size());
                                      for (const json::value& item : value.get_array()) {
                                        std::optional<T> element = read(item);
                                        if (!element) return std::nullopt;
                                        list.push_back(std::move(*element));
                                      }
                                      return list;
                                    });
}

std::optional<bool> JsonFields::boolean(std::string_view name) const {
  return read<bool>(name, JsonType::kBoolean, {},
                    [](const json::value& value) -> std::optional<bool> {
                      if (!value.is_bool()) return std::nullopt;
                      return value.get_bool();
                    });
}

std::optional<std::int64_t> JsonFields::integer(std::string_view name, IntRange range) const {
  return read<std::int64_t>(name, JsonType::kInteger, range, in_range(range));
}

std::optional<double> JsonFields::number(std::string_view name) const {
  return read<double>(name, JsonType::kNumber, {}, json_number);
}

std::optional<std::string> JsonFields::string(std::string_view name) const {
  return read<std::string>(name, JsonType::kString, {}, string_of);
}

std::optional<std::vector<std::int64_t>> JsonFields::integers(std::string_view name,
                                                              IntRange range) const {
  return read_list<std::int64_t>(name, JsonType::kIntegers, range, in_range(range));
}

std::optional<std::vector<double>> JsonFields::numbers(std::string_view name) const {
  return read_list<double>(name, JsonType::kNumbers, {}, json_number);
}

std::optional<std::vector<std::string>> JsonFields::strings(std::string_view name) const {
  return read_list<std::string>(name, JsonType::kStrings, {}, string_of);
}

const json::object* JsonFields::object(std::string_view name) const {
  const json::value* value = find(name);
  if (value == nullptr) return nullptr;
  if (!value->is_object()) wrong_type(name, JsonType::kObject, {});
  return value->if_object();
}

const json::array* JsonFields::array(std::string_view name) const {
  const json::value* value = find(name);
  if (value == nullptr) return nullptr;
  if (!value->is_array()) wrong_type(name, JsonType::kArray, {});
  return value->if_array();
}

}  // namespace foretoken
