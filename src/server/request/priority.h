#pragma once
// From `priority` of a body to the rank that the engine orders requests by. Pure function.

#include <cstdint>

#include "server/context/server_config.h"
#include "server/json/json_fields.h"

namespace foretoken {

// The smaller, the earlier. Without priority scheduling all are equal; then a priority is refused
// where the operator wants it.
std::int64_t read_rank(Fields& fields, const ServerConfig& config);

}  // namespace foretoken
