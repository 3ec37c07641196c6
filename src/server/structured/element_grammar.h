#pragma once
// What a call must be in formats that write each parameter as an element, lists and objects in it,
// too. Elements come in the order of the schema. Strings are free text or one of an enum. What a
// schema says of a list or an object that elements cannot be held to, and what is nested too deep,
// is written as JSON, which the parser of calls takes, too. Pure functions.

#include <span>

#include <boost/json/value.hpp>

#include "base/error.h"
#include "server/structured/call_grammar.h"
#include "text/dialogue/call_style.h"

namespace foretoken {

// From the name to the end of the call. Refused: a strict tool with a parameter that is free text
// and may not be any.
Result<boost::json::value> element_grammar(const CallStyle& style,
                                           std::span<const BoundTool> tools);

}  // namespace foretoken
