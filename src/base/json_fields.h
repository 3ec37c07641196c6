#pragma once
// JsonFields: typed reading of the fields of one JSON object. A field that is absent or null reads
// as nullopt (or null); so does one of the wrong type or out of range, after wrong_type() was told.
// What that does is the layer above: FileFields throws it, server/json/json_fields.h records the first
// one for the client. Not a schema; unknown fields are the caller's business. Holds a reference:
// the object outlives it.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace foretoken {

// Both ends included; as it is, what a size in a file may be.
struct IntRange {
  std::int64_t low = 0;
  std::int64_t high = std::int64_t{1} << 30;

  bool holds(std::int64_t number) const { return low <= number && number <= high; }
};

inline constexpr IntRange kAnyInteger{std::numeric_limits<std::int64_t>::min(),
                                      std::numeric_limits<std::int64_t>::max()};

enum class JsonType {
  kBoolean,
  kInteger,
  kNumber,
  kString,
  kObject,
  kArray,
  kIntegers,  // lists of ...
  kNumbers,
  kStrings,
};

// The number of an integer, also of one written as 4096.0.
std::optional<std::int64_t> json_integer(const boost::json::value& value);
// The number of any number that is finite.
std::optional<double> json_number(const boost::json::value& value);

class JsonFields {
 public:
  explicit JsonFields(const boost::json::object& object) : object_(object) {}

  // The value of a field, or null when it is absent or JSON null.
  const boost::json::value* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  bool has_null(std::string_view name) const;  // present, and null

  std::optional<bool> boolean(std::string_view name) const;
  std::optional<std::int64_t> integer(std::string_view name, IntRange range) const;
  std::optional<double> number(std::string_view name) const;  // finite
  std::optional<std::string> string(std::string_view name) const;
  std::optional<std::vector<std::int64_t>> integers(std::string_view name, IntRange range) const;
  std::optional<std::vector<double>> numbers(std::string_view name) const;
  std::optional<std::vector<std::string>> strings(std::string_view name) const;
  const boost::json::object* object(std::string_view name) const;
  const boost::json::array* array(std::string_view name) const;

  const boost::json::object& all() const { return object_; }

 protected:
  ~JsonFields() = default;
  // The field is there and is not of this type, or not in this range (of integers).
  virtual void wrong_type(std::string_view name, JsonType expected, IntRange range) const = 0;

 private:
  template <typename T, typename Read>
  std::optional<T> read(std::string_view name, JsonType type, IntRange range, Read read) const;
  template <typename T, typename Read>
  std::optional<std::vector<T>> read_list(std::string_view name, JsonType type, IntRange range,
                                          Read read) const;

  const boost::json::object& object_;
};

}  // namespace foretoken
