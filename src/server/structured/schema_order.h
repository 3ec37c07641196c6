#pragma once
// Parameters in the order of their schema, with separators between those that are there, as pieces
// of a structural tag. Of bounded size, because the tag has no names for what it repeats. Pure
// functions.

#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "base/error.h"

namespace foretoken {

struct OrderedParameter {
  boost::json::value text;
  bool is_required = false;
};

// Refused: too many parameters of the tool that may be left out.
Result<boost::json::value> in_schema_order(std::string_view tool,
                                           const std::vector<OrderedParameter>& parameters,
                                           const boost::json::value& separator);

}  // namespace foretoken
