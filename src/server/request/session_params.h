#pragma once
// `session_params` of a body. Pure function.

#include <optional>

#include "server/context/session_store.h"
#include "server/json/json_fields.h"

namespace foretoken {

// Absent: the request is of no session.
std::optional<SessionParams> read_session_params(Fields& fields);

}  // namespace foretoken
