#pragma once
// Which flag a word on the command line means: an exact name, or an unambiguous prefix of one.
// Otherwise an error that names the candidates or the nearest names. Pure functions.

#include <span>
#include <string>
#include <string_view>

#include "base/flag.h"

namespace foretoken {

// Throws UsageError when `word` names no flag or more than one.
const Flag& match_flag(const std::string& word, const FlagTable& table);

// "a, b or c".
std::string join_names(std::span<const std::string_view> names);

}  // namespace foretoken
