#pragma once
// What a call must be in formats that write each parameter between marks: its name, then its
// parameters in the order of the schema, those that are not required or not. Values of strings are
// free text up to their mark, or one of an enum; others are JSON of their schema. Pure functions.

#include <span>

#include <boost/json/value.hpp>

#include "base/error.h"
#include "server/structured/call_grammar.h"
#include "text/dialogue/call_style.h"

namespace foretoken {

// From the name to the end of the call. Refused: a strict tool with a parameter that such a format
// cannot hold to its schema.
Result<boost::json::value> tagged_grammar(const CallStyle& style, std::span<const BoundTool> tools);

}  // namespace foretoken
