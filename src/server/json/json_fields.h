#pragma once
// Fields: one JSON object of a request, read as pydantic reads it. What is wrong is recorded as the
// request's first fault, worded as pydantic words it: "body.n: Input should be a valid integer
// (found string)". The caller reads everything, then asks for the fault once.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json_fields.h"
#include "base/json_text.h"
#include "base/types.h"

namespace foretoken {

// The body as a JSON object, or where it stops being one.
Result<boost::json::object> parse_json_object(std::string_view body);

class Fields final : public JsonFields {
 public:
  // References outlive the Fields. `fault` collects; several Fields of one request share it.
  Fields(const boost::json::object& object, std::string path, std::optional<Refusal>& fault)
      : JsonFields(object), path_(std::move(path)), fault_(fault) {}

  std::optional<bool> boolean(std::string_view name);  // 0 and 1, too
  std::optional<bool> plain_boolean(std::string_view name) { return JsonFields::boolean(name); }
  std::optional<std::int64_t> integer(std::string_view name);
  std::optional<double> number(std::string_view name);  // infinite, too: 1e999 is for range checks
  std::optional<std::uint64_t> seed(std::string_view name);  // any 64-bit integer, negative too
  std::optional<std::vector<std::string>> strings(std::string_view name);  // a string or a list
  std::optional<std::vector<Token>> tokens(std::string_view name);         // a list of integers

  // The value as Python prints it, for messages: -1, 1.5, 2.0, 'text'.
  std::string shown(std::string_view name) const;

  void require(std::string_view name);
  // Records "<message>" unless something was recorded before.
  void refuse(std::string message, int status = 400);
  // Records "path.name: message".
  void refuse_field(std::string_view name, std::string_view message);
  // Refuses the first of these fields that is present with a value other than null, false, 0,
  // "" or an empty list or object: "<name> is not supported: <reason>".
  void refuse_unsupported(std::initializer_list<std::string_view> names, std::string_view reason);

  const std::string& path() const { return path_; }
  bool ok() const { return !fault_.has_value(); }
  std::optional<Refusal>& fault() { return fault_; }

 private:
  void wrong_type(std::string_view name, JsonType expected, IntRange range) const override;
  void record(std::string_view name, std::string_view message) const;

  std::string path_;
  std::optional<Refusal>& fault_;
};

// null, false, 0, "", and empty lists and objects.
bool is_empty_value(const boost::json::value& value);

// A list of token ids, or nullopt when some element is no 32-bit integer.
std::optional<std::vector<Token>> token_list(const boost::json::array& array);

// repr() of a float in Python: 1.0, 0.5, 1e+16, inf.
std::string python_float(double value);

}  // namespace foretoken
