#pragma once
// `foretoken-bench ops`: what each operation of a layer takes alone, by rows, and how much of the
// memory's read speed products reach. Repeated calls of one operation, so a call's cost is in it.

#include "bench/bench_flags.h"

namespace foretoken {

int ops_command(const StepOptions& options);

}  // namespace foretoken
