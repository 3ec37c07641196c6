#pragma once
// Metrics: the Prometheus page of /metrics under SGLang's names. Counters and histograms of
// requests are fed as these go by; what the engine counts and what is fixed since the start comes
// from engine_metrics.h when a page is asked for. Thread-safe.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/engine_port.h"
#include "server/context/server_config.h"

namespace foretoken {

// What one finished choice adds. Times in seconds.
struct FinishedChoice {
  std::int64_t prompt_tokens = 0;  // 0 for further choices of the same prompt
  std::int64_t cached_tokens = 0;
  std::int64_t completion_tokens = 0;
  double e2e_seconds = 0;
  bool aborted = false;
};

class Metrics {
 public:
  explicit Metrics(const ServerConfig& config);  // read when a page is made, so it outlives this
  ~Metrics();

  void observe_first_token(double seconds);
  // `tokens` tokens arrived, `seconds` after the ones before.
  void observe_tokens(std::int64_t tokens, double seconds);
  void observe_finished(const FinishedChoice& choice);

  // HTTP requests. Endpoints and methods become labels, so callers pass names out of small sets.
  void observe_request_began(std::string_view endpoint, std::string_view method);
  void observe_response(std::string_view endpoint, std::string_view method, int status);
  void observe_request_ended(std::string_view endpoint, std::string_view method);

  // The text exposition format.
  std::string page(const EngineStats& stats) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace foretoken
