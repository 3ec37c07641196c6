#include "server/request/http_watch.h"

#include <algorithm>
#include <array>

#include "server/request/request_log.h"

namespace foretoken {
namespace {

constexpr std::string_view kOther = "other";

std::string_view known_method(std::string_view method) {
  constexpr std::array<std::string_view, 7> kMethods = {"GET",    "POST",    "PUT",  "HEAD",
                                                        "DELETE", "OPTIONS", "PATCH"};
  return std::ranges::find(kMethods, method) != kMethods.end() ? method : kOther;
}

}  // namespace

std::string_view HttpWatch::endpoint(const RequestLine& line) const {
  const std::string_view route = line.path.empty() ? std::string_view() : route_of_(line.path);
  return route.empty() ? kOther : route;
}

void HttpWatch::on_began(const RequestLine& line) {
  metrics_.observe_request_began(endpoint(line), known_method(line.method));
}

void HttpWatch::on_answered(const RequestLine& line, int status, std::string_view body) {
  metrics_.observe_response(endpoint(line), known_method(line.method), status);
  if (status >= 400) log_refused(config_, line, status, body);
}

void HttpWatch::on_ended(const RequestLine& line) {
  metrics_.observe_request_ended(endpoint(line), known_method(line.method));
}

}  // namespace foretoken
