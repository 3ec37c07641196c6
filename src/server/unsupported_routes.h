#pragma once
// The routes of SGLang that this server does not have. Their clients get 400 and the reason instead
// of a 404 that looks like a wrong address.

#include "server/http/router.h"

namespace foretoken {

// After the routes that are supported, which come first where both match.
void add_unsupported_routes(Router& router);

}  // namespace foretoken
