#pragma once
// The text of --help: supported flags by group with defaults, then the names of those without
// effect and of those refused. Pure functions.

#include <string>

#include "base/flag.h"

namespace foretoken {

std::string help_text(const FlagTable& table);

}  // namespace foretoken
