#pragma once
// The reference of all flags as a Markdown page, docs/use/flags.md: supported flags by group, as
// --help shows them, then those without effect and those refused, each beside the reason. The
// committed page is compared with this text by a test; `foretoken help --markdown` prints it anew.
// Pure functions.

#include <string>

#include "app/flags/flag.h"

namespace foretoken {

// One subcommand and its flags; the first is the one that has most of them.
struct CommandFlags {
  std::string_view name;
  FlagTable table;
};

std::string flag_page(const std::vector<CommandFlags>& commands);

// The page of this program.
std::string flag_page();

}  // namespace foretoken
