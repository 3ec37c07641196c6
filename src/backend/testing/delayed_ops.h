#pragma once
// A backend that answers later: another one behind a queue and a thread, now and then slow. Its
// memory cannot be touched by the host, scratch is filled with NaN before it is written, and what
// the host wants to know is not there before read_back(). So code that reads a result early, or
// changes what an operation was given too early, fails its test. For tests only.

#include <cstdint>
#include <memory>

#include "backend/ops.h"

namespace foretoken {

// seed: of the delays.
std::unique_ptr<Ops> make_delayed(std::unique_ptr<Ops> inner, std::uint64_t seed);

}  // namespace foretoken
