#pragma once
// What is generated of the commands and their flags for other programs: completions of shells, and
// the page of man. Flags without effect and refused ones are left out. Pure functions.

#include <span>
#include <string>
#include <string_view>

#include "base/flag.h"

namespace foretoken {

struct CommandHelp {
  std::string_view name;
  std::string_view synopsis;
  std::string_view text;  // a sentence or two
  FlagTable table;
};

// shell: bash, zsh or fish. Throws UsageError for others.
std::string completions_of(std::string_view shell, std::span<const CommandHelp> commands);

// In the macros of man(7). version: of the program.
std::string man_page_of(std::span<const CommandHelp> commands, std::string_view version);

}  // namespace foretoken
