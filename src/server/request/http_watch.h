#pragma once
// HttpWatch: what operators see of HTTP: requests and answers by endpoint in the metrics, and every
// refusal (a status of 400 and above) in the log at --log-requests. Thread-safe.
// Invariant: labels come from small fixed sets, however many paths and methods clients invent.

#include <functional>
#include <string>
#include <string_view>

#include "server/context/metrics.h"
#include "server/context/server_config.h"
#include "server/http/http_observer.h"

namespace foretoken {

class HttpWatch final : public HttpObserver {
 public:
  // `route_of`: the route that answers a path, empty where none does.
  using RouteOf = std::function<std::string_view(std::string_view path)>;

  HttpWatch(const ServerConfig& config, Metrics& metrics, RouteOf route_of)
      : config_(config), metrics_(metrics), route_of_(std::move(route_of)) {}

  void on_began(const RequestLine& line) override;
  void on_answered(const RequestLine& line, int status, std::string_view body) override;
  void on_ended(const RequestLine& line) override;

 private:
  std::string_view endpoint(const RequestLine& line) const;

  const ServerConfig& config_;
  Metrics& metrics_;
  RouteOf route_of_;
};

}  // namespace foretoken
