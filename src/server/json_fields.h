#pragma once
// Typed reading of request bodies. A Fields is one JSON object of the request; each reader returns
// nullopt when the field is absent or null, and records the first fault when it has the wrong type,
// worded as pydantic words it: "body.n: Input should be a valid integer (found string)". The caller
// reads everything, then asks refusal() once. Not a schema language; unknown fields are the
// caller's business.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "base/error.h"
#include "base/types.h"

namespace foretoken {

// The body as a JSON object, or where it stops being one. Nesting deeper than 64 and invalid UTF-8
// are refused.
Result<boost::json::object> parse_json_object(std::string_view body);

class Fields {
 public:
  // References outlive the Fields. `fault` collects; several Fields of one request share it.
  Fields(const boost::json::object& object, std::string path, std::optional<Refusal>& fault)
      : object_(object), path_(std::move(path)), fault_(fault) {}

  const boost::json::value* find(std::string_view name) const;  // null: absent or JSON null
  bool has(std::string_view name) const { return find(name) != nullptr; }

  std::optional<bool> boolean(std::string_view name);
  std::optional<double> number(std::string_view name);
  std::optional<std::int64_t> integer(std::string_view name);
  std::optional<std::uint64_t> seed(std::string_view name);  // any 64-bit integer, negative too
  std::optional<std::string> string(std::string_view name);
  std::optional<std::vector<std::string>> strings(std::string_view name);  // a string or a list
  std::optional<std::vector<Token>> tokens(std::string_view name);         // a list of integers
  const boost::json::object* object(std::string_view name);
  const boost::json::array* array(std::string_view name);

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

  const boost::json::object& all() const { return object_; }
  const std::string& path() const { return path_; }
  bool ok() const { return !fault_.has_value(); }
  std::optional<Refusal>& fault() { return fault_; }

 private:
  void wrong_type(std::string_view name, std::string_view expected);

  const boost::json::object& object_;
  std::string path_;
  std::optional<Refusal>& fault_;
};

// A list of token ids, or nullopt when some element is no 32-bit integer.
std::optional<std::vector<Token>> token_list(const boost::json::array& array);

// "string", "object", ... of a JSON value.
std::string_view json_kind(const boost::json::value& value);

// repr() of a float in Python: 1.0, 0.5, 1e+16, inf.
std::string python_float(double value);

}  // namespace foretoken
