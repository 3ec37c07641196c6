#pragma once
// ToolSchemas: what the tools of a request tell a parser of calls: which names there are, and of
// what types their parameters may be, for formats that write values without types. Immutable: read
// by all choices of a request. Not a validator.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace foretoken {

// The JSON types that a parameter may have; none: it is not known.
struct ParameterTypes {
  bool string = false, number = false, boolean = false, null = false, object = false, array = false;

  bool is_known() const { return string || number || boolean || null || object || array; }
  bool is_string_only() const { return string && !(number || boolean || null || object || array); }
};

// What a schema is, if it only refers to a definition of its root; else null.
const boost::json::object* referred_schema(const boost::json::object& schema,
                                           const boost::json::object& root);

class ToolSchemas {
 public:
  // tools: of a request, checked: objects with a function that has a name.
  explicit ToolSchemas(const boost::json::array& tools);

  bool has(std::string_view name) const { return tools_.find(name) != tools_.end(); }
  ParameterTypes types(std::string_view tool, std::string_view parameter) const;

 private:
  using Parameters = std::map<std::string, ParameterTypes, std::less<>>;
  std::map<std::string, Parameters, std::less<>> tools_;
};

// A value as a model wrote it between marks, as JSON: by its types where they are known; as JSON or
// Python spells it; else a string.
std::string json_of_value(std::string_view text, const ParameterTypes& types);

}  // namespace foretoken
