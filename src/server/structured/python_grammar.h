#pragma once
// Calls that are written as Python, [NAME(key=value, ...), ...], as a grammar. Parameters come in
// the order of the tool's schema and are named; a value is a literal of Python that the schema
// allows: what is within a list or a dictionary is spelled as JSON, which the parser of calls takes
// as well, and so is a text with keywords like `pattern`. A tool that names no parameters and takes
// any may get eight. For families with CallStyle::takes_python. Pure functions.

#include <span>

#include <boost/json/value.hpp>

#include "base/error.h"
#include "server/structured/call_grammar.h"

namespace foretoken {

// Refused: a tool with so many parameters that may be left out that the grammar would be too large.
Result<boost::json::value> python_grammar(std::span<const BoundTool> tools);

}  // namespace foretoken
