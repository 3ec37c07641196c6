#pragma once
// JsonFields: checked reading of the keys of one JSON object from a file. A key that is absent or
// null reads as nullopt; one of the wrong type or out of range throws Error naming file, key,
// expected and found. Not a schema. Holds references: the object outlives it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace foretoken {

struct IntRange {
  std::int64_t low = 0;
  std::int64_t high = std::int64_t{1} << 30;
};

class JsonFields {
 public:
  JsonFields(const boost::json::object& object, std::string where);

  // The value of a key, or nullptr when it is absent or null.
  const boost::json::value* find(std::string_view key) const;

  bool has_null(std::string_view key) const;  // present, and null

  std::optional<std::int64_t> integer(std::string_view key, IntRange range = {}) const;
  std::optional<double> number(std::string_view key) const;  // finite
  std::optional<bool> flag(std::string_view key) const;
  std::optional<std::string> text(std::string_view key) const;
  std::optional<std::vector<double>> numbers(std::string_view key) const;
  std::optional<std::vector<std::string>> texts(std::string_view key) const;
  // One integer or a list of them.
  std::vector<std::int64_t> integers(std::string_view key, IntRange range = {}) const;
  const boost::json::object* object(std::string_view key) const;

  std::int64_t required_integer(std::string_view key, IntRange range = {}) const;
  double required_number(std::string_view key) const;

  [[noreturn]] void refuse(std::string_view key, std::string expected) const;
  [[noreturn]] void refuse_missing(std::string_view key) const;
  const std::string& where() const { return where_; }

 private:
  const boost::json::object& object_;
  std::string where_;
};

// Parses a JSON object; `where` names it in errors.
boost::json::object read_json_object(std::string_view text, const std::string& where);

// The bytes of a file; nullopt when there is none, Error when it cannot be read.
std::optional<std::string> read_file_if_present(const std::string& path);

}  // namespace foretoken
