#include "server/router.h"

#include <algorithm>
#include <exception>

#include "base/log.h"

namespace foretoken {
namespace {

// Takes the same time whatever the first difference is.
bool equal_secret(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0U : 1U;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^
                  static_cast<unsigned char>(b.empty() ? '\0' : b[i % b.size()]);
  return difference == 0;
}

void answer_preflight(Exchange& exchange) {
  const HttpRequest& request = exchange.request();
  HttpReply reply{.content_type = "text/plain; charset=utf-8", .body = "OK"};
  reply.headers = {{"access-control-allow-methods", "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"},
                   {"access-control-max-age", "600"},
                   {"vary", "Origin"}};
  if (const auto wanted = request.header("access-control-request-headers"); !wanted.empty())
    reply.headers.emplace_back("access-control-allow-headers", std::string(wanted));
  exchange.reply(std::move(reply));
}

// Whatever a handler throws (a library's exception, no memory) ends this request only.
void run_guarded(const RouteHandler& handler, const std::shared_ptr<Exchange>& exchange) {
  try {
    handler(exchange);
  } catch (const std::exception& error) {
    log_error("{} {} failed: {}", exchange->request().method, exchange->request().path,
              error.what());
    exchange->reply({.status = 500,
                     .body = R"({"object":"error","message":"Internal server error",)"
                             R"("type":"InternalServerError","param":null,"code":500})"});
  }
}

}  // namespace

Router::Router(AccessKeys keys, std::function<void(std::function<void()>)> run_heavy)
    : keys_(std::move(keys)), run_heavy_(std::move(run_heavy)) {}

void Router::add(Route route) { routes_.push_back(std::move(route)); }

const Route* Router::find(std::string_view method, std::string_view path,
                          std::string& allowed) const {
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  for (const Route& route : routes_) {
    const bool below =
        route.matches_below && path.size() > route.path.size() && path.starts_with(route.path);
    if (!below && path != route.path) continue;
    for (const std::string& offered : route.methods) {
      if (offered == wanted) return &route;
      allowed += (allowed.empty() ? "" : ", ") + offered + (offered == "GET" ? ", HEAD" : "");
    }
  }
  return nullptr;
}

bool Router::is_authorised(const HttpRequest& request, const Route& route) const {
  if (request.path.starts_with("/health") || request.path.starts_with("/metrics")) return true;
  const bool admin = route.needs_admin && !keys_.admin_key.empty();
  if (!admin && keys_.api_key.empty()) return true;
  const std::string_view given = request.header("authorization");
  if (!keys_.admin_key.empty() && equal_secret(given, "Bearer " + keys_.admin_key)) return true;
  return !admin && equal_secret(given, "Bearer " + keys_.api_key);
}

void Router::handle(std::shared_ptr<Exchange> exchange) const {
  const HttpRequest& request = exchange->request();
  const bool preflight = request.method == "OPTIONS" && !request.header("origin").empty() &&
                         !request.header("access-control-request-method").empty();
  if (preflight) return answer_preflight(*exchange);
  std::string allowed;
  const Route* route = find(request.method, request.path, allowed);
  if (route == nullptr) {
    if (allowed.empty())
      return exchange->reply({.status = 404, .body = R"({"detail":"Not Found"})"});
    HttpReply reply{.status = 405, .body = R"({"detail":"Method Not Allowed"})"};
    if (request.method == "OPTIONS") reply = {.status = 204, .content_type = "", .body = ""};
    reply.headers.emplace_back("allow", allowed + ", OPTIONS");
    return exchange->reply(std::move(reply));
  }
  if (!is_authorised(request, *route))
    return exchange->reply({.status = 401, .body = R"({"error":"Unauthorized"})"});
  if (route->is_light) return run_guarded(route->handler, exchange);
  run_heavy_([route, exchange = std::move(exchange)] { run_guarded(route->handler, exchange); });
}

}  // namespace foretoken
