#include "server/http/router.h"

#include <exception>
#include <utility>

#include "base/letters.h"
#include "base/log.h"
#include "server/http/error_reply.h"

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

HttpReply preflight_reply(const HttpRequest& request) {
  HttpReply reply{.content_type = "text/plain; charset=utf-8", .body = "OK"};
  reply.headers = {{"access-control-allow-methods", "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"},
                   {"access-control-max-age", "600"}};
  if (const auto wanted = request.header("access-control-request-headers"); !wanted.empty())
    reply.headers.emplace_back("access-control-allow-headers", std::string(wanted));
  return reply;
}

HttpReply refusal(const HttpRequest& request, int status, std::string message) {
  return error_reply(error_style_of(request.path), {std::move(message), status});
}

bool has_body(const HttpRequest& head) {
  if (!head.header("transfer-encoding").empty()) return true;
  const auto length = head.header("content-length");
  return length.find_first_not_of("0") != std::string_view::npos;
}

// application/json or application/<anything>+json, with parameters or without.
bool is_json(std::string_view media_type) {
  std::string name(media_type.substr(0, media_type.find(';')));
  name.erase(name.find_last_not_of(" \t") + 1);
  name = lower_case(std::move(name));
  return name == "application/json" ||
         (name.starts_with("application/") && name.ends_with("+json"));
}

// Pages of other origins may send a few media types, or none, without asking first; they name
// their origin. Other clients may leave the type out.
bool has_acceptable_type(const HttpRequest& head) {
  if (!has_body(head)) return true;
  const auto type = head.header("content-type");
  return type.empty() ? head.header("origin").empty() : is_json(type);
}

bool is_encoded(const HttpRequest& head) {
  const std::string encoding = lower_case(std::string(head.header("content-encoding")));
  return has_body(head) && !encoding.empty() && encoding != "identity";
}

// Whether a request by this method changes and costs nothing: routes that are only read answer GET
// alone, and a page cannot read what it was not allowed to ask for.
bool is_only_read(const Route& route) {
  return !route.is_costly && route.methods.size() == 1 && route.methods.front() == "GET";
}

// Slashes at the end of a path mean nothing, except below a route.
bool covers(const Route& route, std::string_view path) {
  if (route.matches_below && path.size() > route.path.size() && path.starts_with(route.path))
    return true;
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path == route.path;
}

// Whatever a handler throws (a library's exception, no memory) ends this request only.
void run_guarded(const RouteHandler& handler, const std::shared_ptr<Exchange>& exchange) {
  try {
    handler(exchange);
  } catch (const std::exception& error) {
    log_error("{} {} failed: {}", exchange->request().method, exchange->request().path,
              error.what());
    exchange->reply(refusal(exchange->request(), 500, "Internal server error"));
  }
  exchange->release_body();
}

}  // namespace

Router::Router(AccessKeys keys, Origins origins, Run run)
    : keys_(std::move(keys)), origins_(std::move(origins)), run_(std::move(run)) {}

void Router::add(Route route) { routes_.push_back(std::move(route)); }

std::string_view Router::route_of(std::string_view path) const {
  for (const Route& route : routes_)
    if (covers(route, path)) return route.path;
  return {};
}

const Route* Router::find(std::string_view method, std::string_view path,
                          std::string& allowed) const {
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  for (const Route& route : routes_) {
    if (!covers(route, path)) continue;
    for (const std::string& offered : route.methods) {
      if (offered == wanted) return &route;
      allowed += (allowed.empty() ? "" : ", ") + offered + (offered == "GET" ? ", HEAD" : "");
    }
  }
  return nullptr;
}

bool Router::is_authorised(const HttpRequest& request, const Route& route) const {
  if (route.is_open) return true;
  const bool admin = route.needs_admin && !keys_.admin_key.empty();
  if (!admin && keys_.api_key.empty()) return true;
  // Anthropic's clients send the key alone, in a header of its own.
  std::string named(request.header("authorization"));
  if (named.empty() && !request.header("x-api-key").empty())
    named = "Bearer " + std::string(request.header("x-api-key"));
  const std::string_view given = named;
  if (!keys_.admin_key.empty() && equal_secret(given, "Bearer " + keys_.admin_key)) return true;
  return !admin && equal_secret(given, "Bearer " + keys_.api_key);
}

std::optional<HttpReply> Router::admit(const HttpRequest& head) const {
  if (origins_.is_misnamed(head))
    return refusal(head, 403,
                   "this server listens on a loopback address and is not called by that 'Host': "
                   "use localhost or an address, or name its origin with the flag --allow-origin");
  const bool preflight = head.method == "OPTIONS" && !head.header("origin").empty() &&
                         !head.header("access-control-request-method").empty() &&
                         origins_.allow(head.header("origin"));
  if (preflight) return preflight_reply(head);
  std::string allowed;
  const Route* route = find(head.method, head.path, allowed);
  if (route == nullptr) {
    if (allowed.empty()) return refusal(head, 404, "Not Found");
    HttpReply reply = refusal(head, 405, "Method Not Allowed");
    if (head.method == "OPTIONS") reply = {.status = 204, .content_type = "", .body = ""};
    reply.headers.emplace_back("allow", allowed + ", OPTIONS");
    return reply;
  }
  if (!is_only_read(*route) && origins_.are_foreign_to(head))
    return refusal(head, 403,
                   "pages of other origins may not send this: see the flag --allow-origin");
  // SGLang's words, on all routes.
  if (!is_authorised(head, *route))
    return HttpReply{.status = 401, .body = R"({"error":"Unauthorized"})"};
  if (route->is_work && draining_) return refusal(head, 503, "the server is shutting down");
  if (route->takes_json && !has_acceptable_type(head))
    return refusal(head, 415,
                   "Unsupported Media Type: the body must be sent with the header "
                   "'Content-Type: application/json'");
  if (is_encoded(head))
    return refusal(head, 415,
                   "Unsupported Media Type: bodies are not decoded, send this one without a "
                   "'Content-Encoding'");
  return std::nullopt;
}

void Router::handle(std::shared_ptr<Exchange> exchange) const {
  std::string allowed;
  const Route* route = find(exchange->request().method, exchange->request().path, allowed);
  if (route == nullptr) return exchange->reply(refusal(exchange->request(), 404, "Not Found"));
  if (route->is_light) return run_guarded(route->handler, exchange);
  const std::size_t body_bytes = exchange->request().body.size();
  run_(route->kind, body_bytes,
       [route, exchange = std::move(exchange)] { run_guarded(route->handler, exchange); });
}

}  // namespace foretoken
