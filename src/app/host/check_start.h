#pragma once
// What can be found wrong with a start before any model is there: devices, instruction sets, chat
// templates, draft trees. For starts that download, so that nobody waits for a download in vain;
// loading finds the same faults.

#include "app/options/resolve_options.h"

namespace foretoken {

// Throws Error.
void check_start(const Options& options);

// resolve_options(), with these checks before a download.
Options resolve_checked_options(const FlagValues& values, const Environment& environment,
                                DefaultModel usual = DefaultModel::kDemo);

}  // namespace foretoken
