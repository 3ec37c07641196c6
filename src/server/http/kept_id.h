#pragma once
// The id that a client or a router gave a request (x-request-id), which its answer carries, too, so
// that logs of both sides can be read together. Not the id of the request's answers (rid), which is
// in the body. Pure functions.

#include <string>
#include <string_view>

#include "server/http/message.h"

namespace foretoken {

// 1 to 128 visible characters of ASCII; empty: there is none, or one that is not kept.
std::string_view kept_id(const HttpRequest& head);
// Header line of the answer with CR LF; empty where there is no id.
std::string kept_id_line(const HttpRequest& head);

}  // namespace foretoken
