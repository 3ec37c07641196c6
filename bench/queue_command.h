#pragma once
// `foretoken-bench queue`: what a long queue and a full prefix cache add to a step of the engine,
// without any model: plans are made and retired, and made-up tokens stand for what a model says.

#include <span>
#include <string>

#include "app/flags/flag_parser.h"

namespace foretoken {

FlagTable queue_flags();

// The exit code: 1 where waiting requests add more than the limit. Throws UsageError.
int queue_command(std::span<const std::string> args);

}  // namespace foretoken
