#pragma once
// Router: finds the handler of a path and method, and does what is the same for all of them: 404,
// 405, HEAD, OPTIONS and CORS preflights, requests that pages of other origins send or that call
// the server by a name not its own, the API key, the media type of bodies, and moving heavy work
// off the I/O threads. All refusals of its own need a request's head only. Not an API: bodies are
// the handlers' business. Read-only after set-up but for the beginning of the drain, so safe from
// any thread.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/message.h"
#include "server/http/origins.h"

namespace foretoken {

using RouteHandler = std::function<void(std::shared_ptr<Exchange>)>;

// What a handler does for most of its time: reads a body and computes a little, waits for the
// engine, or computes for seconds. None must hold up those of another kind.
enum class HandlerKind { kComputing, kWaiting, kLoading };

struct Route {
  std::vector<std::string> methods;  // "GET" answers HEAD as well
  std::string path;                  // of which a request may add slashes at the end
  RouteHandler handler;
  bool matches_below = false;  // also every path that starts with `path` (which ends in '/')
  bool is_light = false;       // runs on the I/O thread: no parsing of bodies, no waiting
  HandlerKind kind = HandlerKind::kComputing;
  bool needs_admin = false;  // asks for the admin key where one is set
  bool is_open = false;      // asks for no key at all
  bool takes_json = true;    // refuses bodies of another media type
  bool is_work = false;      // refused once the server drains
  bool is_costly = false;    // makes the model compute, whatever the method
};

struct AccessKeys {
  std::string api_key;    // empty: open
  std::string admin_key;  // empty: admin routes take the api key
};

class Router {
 public:
  // Runs a function elsewhere; body_bytes: of the body that it will read.
  using Run = std::function<void(HandlerKind kind, std::size_t body_bytes, std::function<void()>)>;
  Router(AccessKeys keys, Origins origins, Run run);

  void add(Route route);
  // What the head alone decides: an answer, or nullopt when a handler shall see the whole request.
  std::optional<HttpReply> admit(const HttpRequest& head) const;
  // For requests that were admitted.
  void handle(std::shared_ptr<Exchange> exchange) const;
  // The route that answers this path for some method; empty: none.
  std::string_view route_of(std::string_view path) const;
  void begin_drain() { draining_ = true; }

 private:
  const Route* find(std::string_view method, std::string_view path, std::string& allowed) const;
  bool is_authorised(const HttpRequest& request, const Route& route) const;

  AccessKeys keys_;
  Origins origins_;
  Run run_;
  std::vector<Route> routes_;
  std::atomic<bool> draining_{false};
};

}  // namespace foretoken
