#pragma once
// The first lines of a server's log: what is served, where, with which drafts. Not the flags: they
// are one line at debug level.

#include <string>

#include "app/options/options.h"

namespace foretoken {

// Several lines, without a line break at the end.
std::string start_table(const Options& options);

}  // namespace foretoken
