#pragma once
// What formats that write the parameters of a call one by one need to know of a tool's schema: the
// schema of one parameter by itself. Pure functions.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/error.h"

namespace foretoken {

// `given`, or what it refers to; an empty one where it is none.
const boost::json::object& followed_schema(const boost::json::value& given,
                                           const boost::json::object& of_tool);

// With the definitions that it may refer to.
boost::json::object standalone_schema(const boost::json::object& schema,
                                      const boost::json::object& of_tool);

bool is_required(const boost::json::object& of_tool, std::string_view parameter);

// The schema allows parameters that it does not name.
bool takes_others(const boost::json::object& of_tool);

// `const` or `enum`, where the schema has one.
std::optional<boost::json::array> named_values(const boost::json::object& schema);

// The texts among them, but for an empty one.
std::vector<std::string> named_texts(const boost::json::object& schema);

// Why the parameter of a strict tool cannot be free text; nullopt: it can.
struct ParameterPlace {
  std::string_view parameter, tool, family;
};
std::optional<Refusal> free_text_refusal(bool is_strict, const boost::json::object& schema,
                                         const ParameterPlace& place);

// Without what elements and objects written one by one are held to: their members and items.
boost::json::object without_members(const boost::json::object& schema);

// A keyword of a schema of texts that free text may violate; nullopt: there is none.
std::optional<std::string> keyword_of_texts(const boost::json::object& schema);

}  // namespace foretoken
