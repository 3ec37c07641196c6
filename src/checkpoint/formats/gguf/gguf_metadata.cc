#include "checkpoint/formats/gguf/gguf_metadata.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/error.h"

namespace foretoken {
namespace {

using Type = GgufValue::Type;

template <typename T>
T element(const GgufValue& value, std::size_t i) {
  T number{};
  std::memcpy(&number, value.bytes.data() + i * sizeof(T), sizeof(T));
  return number;
}

std::string kind_of(const GgufValue& value) {
  static constexpr const char* kNames[] = {"an integer", "an integer", "an integer", "an integer",
                                           "an integer", "an integer", "a number",   "a boolean",
                                           "a text",     "a list",     "an integer", "an integer",
                                           "a number"};
  const std::string name = kNames[static_cast<std::size_t>(value.type)];
  return value.is_array ? "a list of which each is " + name : name;
}

std::optional<std::int64_t> integer_at(const GgufValue& value, std::size_t i) {
  switch (value.type) {
    case Type::kU8:
      return element<std::uint8_t>(value, i);
    case Type::kI8:
      return element<std::int8_t>(value, i);
    case Type::kU16:
      return element<std::uint16_t>(value, i);
    case Type::kI16:
      return element<std::int16_t>(value, i);
    case Type::kU32:
      return element<std::uint32_t>(value, i);
    case Type::kI32:
      return element<std::int32_t>(value, i);
    case Type::kI64:
      return element<std::int64_t>(value, i);
    case Type::kU64: {
      const auto number = element<std::uint64_t>(value, i);
      constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
      return number > kMost ? std::nullopt : std::optional(static_cast<std::int64_t>(number));
    }
    default:
      return std::nullopt;
  }
}

std::optional<double> number_at(const GgufValue& value, std::size_t i) {
  double number = 0.0;
  if (value.type == Type::kF32)
    number = element<float>(value, i);
  else if (value.type == Type::kF64)
    number = element<double>(value, i);
  else if (const auto integer = integer_at(value, i))
    number = static_cast<double>(*integer);
  else
    return std::nullopt;
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::optional<bool> boolean_at(const GgufValue& value, std::size_t i) {
  return value.type == Type::kBool ? std::optional(value.bytes[i] != std::byte{0}) : std::nullopt;
}

// All elements of a list, or the one value.
template <typename T, typename Read>
std::vector<T> list_of(const GgufMetadata& metadata, const std::string& key, const char* expected,
                       Read read) {
  std::vector<T> list;
  const GgufValue* value = metadata.find(key);
  if (value == nullptr) return list;
  for (std::uint64_t i = 0; i < value->count; ++i) {
    const auto found = read(*value, i);
    if (!found) metadata.refuse(key, expected, kind_of(*value) + " that is none");
    list.push_back(*found);
  }
  return list;
}

template <typename Read>
auto one_of(const GgufMetadata& metadata, const std::string& key, const char* expected, Read read)
    -> decltype(read(std::declval<GgufValue>(), 0)) {
  const GgufValue* value = metadata.find(key);
  if (value == nullptr) return std::nullopt;
  const auto found = value->is_array ? std::nullopt : read(*value, 0);
  if (!found) metadata.refuse(key, expected, kind_of(*value));
  return found;
}

}  // namespace

bool GgufMetadata::add(std::string key, const GgufValue& value) {
  return values_.emplace(std::move(key), value).second;
}

const GgufValue* GgufMetadata::find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

std::optional<std::int64_t> GgufMetadata::integer(const std::string& key) const {
  return one_of(*this, key, "an integer below 2^63", integer_at);
}

std::optional<double> GgufMetadata::number(const std::string& key) const {
  return one_of(*this, key, "a finite number", number_at);
}

std::optional<bool> GgufMetadata::boolean(const std::string& key) const {
  return one_of(*this, key, "a boolean", boolean_at);
}

std::optional<std::string> GgufMetadata::text(const std::string& key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_array || value->type != Type::kString) refuse(key, "a text", kind_of(*value));
  return std::string(texts(key).front());
}

std::vector<std::int64_t> GgufMetadata::integers(const std::string& key) const {
  return list_of<std::int64_t>(*this, key, "integers below 2^63", integer_at);
}

std::optional<std::int64_t> GgufMetadata::greatest(const std::string& key) const {
  const std::vector<std::int64_t> all = integers(key);
  const auto found = std::ranges::max_element(all);
  return found == all.end() ? std::nullopt : std::optional(*found);
}

std::vector<bool> GgufMetadata::booleans(const std::string& key) const {
  return list_of<bool>(*this, key, "booleans", boolean_at);
}

std::vector<double> GgufMetadata::numbers(const std::string& key) const {
  return list_of<double>(*this, key, "finite numbers", number_at);
}

std::vector<std::string_view> GgufMetadata::texts(const std::string& key) const {
  std::vector<std::string_view> list;
  const GgufValue* value = find(key);
  if (value == nullptr) return list;
  if (value->type != Type::kString) refuse(key, "texts", kind_of(*value));
  std::span<const std::byte> rest = value->bytes;
  for (std::uint64_t i = 0; i < value->count; ++i) {
    std::uint64_t length = 0;
    // The file may be written to while it is read: what the parser saw may be gone.
    if (rest.size() < sizeof length) refuse(key, "texts", "a length beyond them");
    std::memcpy(&length, rest.data(), sizeof length);
    rest = rest.subspan(sizeof length);
    if (length > rest.size()) refuse(key, "texts", "a length beyond them");
    list.emplace_back(reinterpret_cast<const char*>(rest.data()), length);
    rest = rest.subspan(length);
  }
  return list;
}

std::size_t GgufMetadata::count(const std::string& key) const {
  const GgufValue* value = find(key);
  return value == nullptr ? 0 : static_cast<std::size_t>(value->count);
}

void GgufMetadata::refuse(const std::string& key, std::string expected, std::string found) const {
  throw Error({"wrong value in the GGUF file's metadata", where_ + ", key " + key,
               std::move(expected), std::move(found)});
}

void GgufMetadata::refuse_missing(const std::string& key) const {
  throw Error({"the GGUF file's metadata lacks a key", where_, key, {}});
}

}  // namespace foretoken
