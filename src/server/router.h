#pragma once
// Router: finds the handler of a path and method, and does what is the same for all of them: 404,
// 405, HEAD, OPTIONS and CORS preflights, the API key, and moving heavy work off the I/O threads.
// Not an API: bodies are the handlers' business. Read-only after set-up, so safe from any thread.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/http_message.h"

namespace foretoken {

using RouteHandler = std::function<void(std::shared_ptr<Exchange>)>;

struct Route {
  std::vector<std::string> methods;  // "GET" answers HEAD as well
  std::string path;
  RouteHandler handler;
  bool matches_below = false;  // also every path that starts with `path` (which ends in '/')
  bool is_light = false;       // runs on the I/O thread: no parsing of bodies, no waiting
  bool needs_admin = false;    // asks for the admin key where one is set
};

struct AccessKeys {
  std::string api_key;    // empty: open
  std::string admin_key;  // empty: admin routes take the api key
};

class Router {
 public:
  // `run_heavy` runs a function elsewhere (a worker pool).
  Router(AccessKeys keys, std::function<void(std::function<void()>)> run_heavy);

  void add(Route route);
  void handle(std::shared_ptr<Exchange> exchange) const;

 private:
  const Route* find(std::string_view method, std::string_view path, std::string& allowed) const;
  bool is_authorised(const HttpRequest& request, const Route& route) const;

  AccessKeys keys_;
  std::function<void(std::function<void()>)> run_heavy_;
  std::vector<Route> routes_;
};

// Header lines of every answer: browsers of any origin may call, as with SGLang.
inline constexpr std::string_view kCorsHeaders =
    "access-control-allow-origin: *\r\naccess-control-allow-credentials: true\r\n";

}  // namespace foretoken
