#pragma once
// Values of flags within bounds. Pure functions; each throws UsageError, which names the flag.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "app/flags/flag_parser.h"

namespace foretoken {

// An integer flag within [least, most]; nullopt when it was not given and has no default.
std::optional<int> bounded(const FlagValues& values, std::string_view name, std::int64_t least,
                           std::int64_t most = std::numeric_limits<int>::max());

// A text flag that must hold a JSON object, or nothing.
std::string json_object(const FlagValues& values, std::string_view name);

}  // namespace foretoken
