#pragma once
// The first lines of a server's log: what is served, where, with which drafts. Not the flags: they
// are one line at debug level.

#include <string>
#include <vector>

#include "app/options/options.h"

namespace foretoken {

// By line: a call of the log is one.
std::vector<std::string> start_table(const Options& options);

}  // namespace foretoken
