#pragma once
// ServedModel: a model and the server in front of it, in the order in which a start wants them: the
// port first, then text and weights. What commands that serve have in common. One thread; stop()
// from any.

#include <chrono>
#include <memory>

#include "app/options/options.h"

namespace foretoken {

class ServedModel {
 public:
  using Clock = std::chrono::steady_clock;

  // Takes the port, which refuses requests with 503 until load() is done. `options` outlive this;
  // start: of the program, for the figures. Throws Error.
  ServedModel(const Options& options, Clock::time_point start);
  ~ServedModel();

  int port() const;
  // Requests are answered when it returns. Throws Error.
  void load();
  // Tells the log who could draft, where nobody was named; after load().
  void name_drafters() const;
  // Until stop(), or a signal where the options want them handled, and the drain that follows.
  void run();
  void stop();
  // run() returns when the device is lost, and has_lost_device() says that it was. Otherwise
  // requests are refused from then on, /health says why. Before load().
  void stop_when_device_is_lost();
  bool has_lost_device() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace foretoken
