#pragma once
// The page that the server shows to a browser: a chat, and what the server does. It is a client of
// the other routes like any other; here are only its files and their headers. Thread-safe.

#include "server/http/http_server.h"
#include "server/http/router.h"

namespace foretoken {

// GET / and GET /web/NAME. They hold no secret and ask for no key: the page asks for it.
void add_page_routes(Router& router);

// A service that shows the page, too, whatever else it answers: while the model is loaded.
HttpService with_page(HttpService service);

}  // namespace foretoken
