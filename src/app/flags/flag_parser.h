#pragma once
// Reads a command line against a FlagTable with the habits of Python's argparse: any unambiguous
// prefix of a long flag, --flag=value, lists that run to the next flag, the last of a repeated flag
// wins. Not validation of meanings: see options.h. Pure functions of their arguments.

#include <span>
#include <string>
#include <vector>

#include "app/flags/flag_table.h"
#include "base/flag_values.h"

namespace foretoken {

// Throws UsageError for what cannot be read and for flags and values that are refused.
FlagValues parse_flags(std::span<const std::string> args, const FlagTable& table);

// Names may stand before, between and behind the flags.
struct NamesAndFlags {
  std::vector<std::string> names;
  FlagValues flags;
};
NamesAndFlags parse_names_and_flags(std::span<const std::string> args, const FlagTable& table);

// One line for each flag that was given and has no effect here.
std::vector<std::string> notes_of(const FlagValues& values);

}  // namespace foretoken
