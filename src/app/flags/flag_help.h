#pragma once
// The text of --help: supported flags by group with defaults, then the names of those without
// effect and of those refused. Pure functions.

#include <cstddef>
#include <limits>
#include <string>

#include "base/flag.h"

namespace foretoken {

std::string help_text(const FlagTable& table);

// What follows the name of a flag: " N", " TEXT...", or its choices, of which there are at most
// `most_choices`; empty for a switch.
std::string value_text(const Flag& flag,
                       std::size_t most_choices = std::numeric_limits<std::size_t>::max());

}  // namespace foretoken
