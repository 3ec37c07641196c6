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

// A place in the schema of a tool's arguments; where the schema says nothing of it, an empty one.
// Of no longer life than its ToolSchemas. What a look into it costs is bounded.
class SchemaPlace {
 public:
  SchemaPlace() = default;
  SchemaPlace(const boost::json::object& schema, const boost::json::object& root)
      : schema_(&schema), root_(&root) {}

  ParameterTypes types() const;
  SchemaPlace member(std::string_view name) const;  // of an object
  SchemaPlace item() const;                         // of a list

 private:
  SchemaPlace at(const boost::json::value* schema) const;

  const boost::json::object* schema_ = nullptr;
  const boost::json::object* root_ = nullptr;
};

class ToolSchemas {
 public:
  // tools: of a request, checked: objects with a function that has a name.
  explicit ToolSchemas(const boost::json::array& tools);

  bool has(std::string_view name) const { return tools_.find(name) != tools_.end(); }
  ParameterTypes types(std::string_view tool, std::string_view parameter) const;
  SchemaPlace place(std::string_view tool) const;  // all of its arguments

 private:
  struct Tool {
    boost::json::object schema;
    std::map<std::string, ParameterTypes, std::less<>> parameters;
  };
  std::map<std::string, Tool, std::less<>> tools_;
};

// A value as a model wrote it between marks, as JSON: by its types where they are known; as JSON or
// Python spells it; else a string.
std::string json_of_value(std::string_view text, const ParameterTypes& types);

}  // namespace foretoken
