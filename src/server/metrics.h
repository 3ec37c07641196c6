#pragma once
// Metrics: the Prometheus page of /metrics under SGLang's names. Counters and histograms are fed as
// requests go by; gauges are read from the engine when somebody asks. Thread-safe.

#include <cstdint>
#include <memory>
#include <string>

#include "engine/engine_port.h"
#include "server/server_config.h"

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
  explicit Metrics(const ServerConfig& config);
  ~Metrics();

  void observe_first_token(double seconds);
  // `tokens` tokens arrived, `seconds` after the ones before.
  void observe_tokens(std::int64_t tokens, double seconds);
  void observe_finished(const FinishedChoice& choice);

  // The text exposition format.
  std::string page(const EngineStats& stats);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace foretoken
