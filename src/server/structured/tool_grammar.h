#pragma once
// What a demanded call of a tool binds the output to: a JSON list of calls, for every family of
// models, in which each call is one of the tools and its parameters are of that tool's schema.
// Pure functions.

#include <optional>
#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/error.h"

namespace foretoken {

// The JSON schema of such a list. named: the one tool that is to be called; empty: any. one_call:
// there is no second. Refused: a name that no tool has; definitions of one name that differ.
Result<std::string> schema_of_calls(const boost::json::array& tools, std::string_view named,
                                    bool one_call);

// Moves the definitions of a schema to the root that it becomes a part of, because references begin
// there. Refused: a name that is defined differently there.
std::optional<Refusal> move_definitions(boost::json::object& schema, boost::json::object& root);

}  // namespace foretoken
