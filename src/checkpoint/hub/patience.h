#pragma once
// Patience: how often and how long a download is tried again: waits double from try to try, an
// answer's Retry-After goes before, and any byte that arrives restores it all. One thread at a time.

#include <functional>
#include <optional>
#include <string>

#include "checkpoint/hub/hub_client.h"

namespace foretoken {

class Patience {
 public:
  // on_wait: told why and for how long, before each wait.
  using OnWait = std::function<void(const std::string& why, double seconds)>;
  Patience(double first_wait_seconds, OnWait on_wait);

  void restore() { tries_ = 0; }
  // Sleeps before the next try. Throws Error with `why` when it has been tried often enough.
  void wait(const std::string& what, const std::string& why,
            std::optional<double> retry_after = std::nullopt);

 private:
  double first_wait_;
  OnWait on_wait_;
  int tries_ = 0;
};

// Answers after which the same may be asked again: 408, 429, 500, 502, 503, 504.
bool is_passing(int status);

// Seconds of a Retry-After, at most ten minutes; nullopt: there is none that can be read. now: Unix
// time.
std::optional<double> retry_after(const HubReply& reply, std::int64_t now);

// Asks until the answer is not a passing one. Where there was no connection at all, it is not tried
// again: a user who has no network is told at once. Throws Error.
HubReply ask_patiently(const std::string& what, Patience& patience,
                       const std::function<HubReply()>& ask);

}  // namespace foretoken
