#pragma once
// `foretoken-bench accept`: lets each method of drafting answer the same prompts, compares the
// texts with those of plain decoding, and prints accept lengths and speeds.

#include "bench/bench_flags.h"

namespace foretoken {

// The exit code: 1 where a text differs. Throws Error.
int accept_command(const AcceptOptions& options);

}  // namespace foretoken
