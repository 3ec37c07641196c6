#pragma once
// What a call of a tool must be once its mark has come, in the format of the model's family: a
// grammar from behind the mark to the end of the call, in which the name is one of the tools' and
// the arguments are of that tool's schema. For families that write arguments as JSON behind a mark;
// others are not bound. Not the looking for marks: see call_constraint.h. Pure functions.

#include <span>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/error.h"
#include "text/dialogue/call_style.h"

namespace foretoken {

// The mark behind which a call of this family is bound; empty: none is.
std::string_view bound_mark(const CallStyle& style);

struct BoundTool {
  std::string name;
  boost::json::object schema;  // of the arguments
};

// As a structural tag. Refused: tools that define a name differently, where the family writes
// several calls as one list.
Result<std::string> call_grammar(const CallStyle& style, std::span<const BoundTool> tools);

}  // namespace foretoken
