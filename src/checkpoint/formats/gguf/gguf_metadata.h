#pragma once
// GgufMetadata: the keys and values in the header of a GGUF file, as views of the file's bytes: a
// vocabulary is copied when it is asked for, not before. A value of another type than asked for is
// an Error that names the key. Immutable; the file outlives it.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace foretoken {

struct GgufValue {
  // The numbers under which files know the types.
  enum class Type : std::uint32_t {
    kU8,
    kI8,
    kU16,
    kI16,
    kU32,
    kI32,
    kF32,
    kBool,
    kString,
    kArray,
    kU64,
    kI64,
    kF64
  };

  Type type = Type::kU8;  // of the elements of an array
  bool is_array = false;
  std::uint64_t count = 1;           // of elements
  std::span<const std::byte> bytes;  // of all elements; strings have their lengths before them
};

class GgufMetadata {
 public:
  explicit GgufMetadata(std::string where) : where_(std::move(where)) {}

  // False: there is a value of this key.
  bool add(std::string key, const GgufValue& value);

  const GgufValue* find(const std::string& key) const;
  bool has(const std::string& key) const { return find(key) != nullptr; }

  // One value; nullopt where the key is absent.
  std::optional<std::int64_t> integer(const std::string& key) const;
  std::optional<double> number(const std::string& key) const;  // finite
  std::optional<bool> boolean(const std::string& key) const;
  std::optional<std::string> text(const std::string& key) const;

  // The greatest of a list of which each layer has one; nullopt where the key is absent.
  std::optional<std::int64_t> greatest(const std::string& key) const;

  // Lists; a single value where one stands in the place of a list. Empty where the key is absent.
  std::vector<std::int64_t> integers(const std::string& key) const;
  std::vector<bool> booleans(const std::string& key) const;
  std::vector<double> numbers(const std::string& key) const;
  std::vector<std::string_view> texts(const std::string& key) const;  // views of the file
  std::size_t count(const std::string& key) const;                    // elements; 0: absent

  [[noreturn]] void refuse(const std::string& key, std::string expected, std::string found) const;
  [[noreturn]] void refuse_missing(const std::string& key) const;

  const std::map<std::string, GgufValue>& all() const { return values_; }
  const std::string& where() const { return where_; }

 private:
  std::string where_;
  std::map<std::string, GgufValue> values_;
};

}  // namespace foretoken
