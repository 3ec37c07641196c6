#pragma once
// Calls that are written as Python, [NAME(key=value, ...), ...], as a grammar. For families
// with CallStyle::takes_python. Pure functions.
//   - Parameters are named and come in the order of the tool's schema.
//   - A value is a literal of Python that the schema allows. The inside of lists and dictionaries,
//     and texts with keywords like `pattern`, are spelled as JSON: the parser of calls takes both.
//   - A tool that names no parameters and takes any may get eight.

#include <span>

#include <boost/json/value.hpp>

#include "base/error.h"
#include "server/structured/call_grammar.h"

namespace foretoken {

// Refused: a tool whose optional parameters are too many for a grammar of bounded size.
Result<boost::json::value> python_grammar(std::span<const BoundTool> tools);

}  // namespace foretoken
