#pragma once
// Calls whose arguments are JSON but for keys without quotes and strings between marks of their
// own, as a grammar. Keys come in the order of the schema. Strings are free text or one of an enum.
// Pure functions.

#include <span>

#include <boost/json/value.hpp>

#include "base/error.h"
#include "server/structured/call_grammar.h"
#include "text/dialogue/call_style.h"

namespace foretoken {

// From the name to the end of the arguments. Refused: a tool whose optional parameters are too many
// for a grammar of bounded size; of a strict one also keywords that the format cannot be held to,
// and what is nested too deep.
Result<boost::json::value> loose_grammar(const CallStyle& style, std::span<const BoundTool> tools);

}  // namespace foretoken
