#pragma once
// JsonWriter: writes JSON text front to back into one string. Not a document model. Commas and
// quoting are its business; the caller keeps begin and end in balance (checked in debug builds).
// Floats are written as the shortest text that reads back the same; NaN and infinities as null.
// Strings may hold invalid UTF-8 (pieces of characters): such bytes become U+FFFD, so the output is
// always valid.

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace foretoken {

class JsonWriter {
 public:
  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);

  JsonWriter& null();
  JsonWriter& string(std::string_view text);
  JsonWriter& number(float value);
  JsonWriter& number(double value);
  JsonWriter& boolean(bool value);
  JsonWriter& integer(std::int64_t value);
  JsonWriter& raw(std::string_view json);  // one complete value

  // key and value in one call
  JsonWriter& field(std::string_view name, std::string_view value) {
    return key(name).string(value);
  }
  JsonWriter& field(std::string_view name, const char* value) { return key(name).string(value); }
  JsonWriter& field(std::string_view name, bool value) { return key(name).boolean(value); }
  JsonWriter& field(std::string_view name, double value) { return key(name).number(value); }
  JsonWriter& field(std::string_view name, float value) { return key(name).number(value); }
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  JsonWriter& field(std::string_view name, T value) {
    return key(name).integer(static_cast<std::int64_t>(value));
  }
  JsonWriter& field_null(std::string_view name) { return key(name).null(); }

  std::string take();  // the text; leaves the writer empty
  const std::string& text() const { return out_; }

 private:
  void separate();
  std::string out_;
  bool comma_ = false;  // the next value or key needs a comma before it
  int depth_ = 0;
};

// Appends `text` as a JSON string literal.
void append_json_string(std::string& out, std::string_view text);

}  // namespace foretoken
