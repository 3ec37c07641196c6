#pragma once
// foretoken-bench quality: what weights of fewer bits cost: perplexity of a text, divergence from
// the weights as they are stored, and memory, for each kind asked for.

#include <span>
#include <string>

#include "app/flags/flag_parser.h"

namespace foretoken {

FlagTable quality_flags();
int quality_command(std::span<const std::string> args);

}  // namespace foretoken
