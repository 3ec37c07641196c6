#pragma once
// FileFields: the fields of a JSON object from a file. A fault throws Error naming file, key,
// expected and found; the file cannot be used.

#include <string>

#include "base/json_fields.h"

namespace foretoken {

class FileFields final : public JsonFields {
 public:
  FileFields(const boost::json::object& object, std::string where)
      : JsonFields(object), where_(std::move(where)) {}

  std::optional<std::int64_t> integer(std::string_view key, IntRange range = {}) const {
    return JsonFields::integer(key, range);
  }
  // One integer or a list of them; none when the key is absent.
  std::vector<std::int64_t> integers(std::string_view key, IntRange range = {}) const;

  std::int64_t required_integer(std::string_view key, IntRange range = {}) const;
  double required_number(std::string_view key) const;

  [[noreturn]] void refuse(std::string_view key, std::string expected) const;
  [[noreturn]] void refuse_missing(std::string_view key) const;
  const std::string& where() const { return where_; }

 private:
  [[noreturn]] void wrong_type(std::string_view key, JsonType expected,
                               IntRange range) const override;

  std::string where_;
};

}  // namespace foretoken
