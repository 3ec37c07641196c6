#pragma once
// From a body of /v1/messages to the body of a chat. What is wrong is recorded as the request's
// fault, with its place in the body that was sent. Thread-safe: no state but the logged names.

#include <boost/json/object.hpp>

#include "server/json/json_fields.h"
#include "server/json/known_fields.h"

namespace foretoken {

// counts_only: no limit of the answer is needed.
boost::json::object chat_of_messages(Fields& body, UnknownFields& unknown, bool counts_only);

}  // namespace foretoken
