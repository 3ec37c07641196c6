#pragma once
// HttpServer: sockets, HTTP/1.1 parsing and framing, time-outs, back-pressure, draining. Not
// routing and not an API: every complete request goes to one handler as an Exchange.
// A few I/O threads serve all connections; a connection costs a buffer, never a thread. The handler
// runs on an I/O thread and must be short.

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "server/http_message.h"

namespace foretoken {

struct HttpConfig {
  std::string host = "127.0.0.1";
  int port = 0;  // 0: any free port
  int io_threads = 2;
  std::string common_headers;  // of every answer: lines that end in CR LF
  bool handle_signals = true;  // SIGTERM and SIGINT drain; a second one ends the process
  std::size_t max_header_bytes = 64 << 10;
  std::size_t max_body_bytes = std::size_t{64} << 20;
  std::chrono::milliseconds header_timeout{30'000};  // from a request's first byte to its head
  std::chrono::milliseconds body_timeout{30'000};    // without progress
  std::chrono::milliseconds idle_timeout{75'000};    // between requests
  std::chrono::milliseconds write_timeout{120'000};  // client takes nothing of a pending answer
  std::chrono::milliseconds drain_timeout{30'000};   // running exchanges after stop()
};

class HttpServer {
 public:
  using Handler = std::function<void(std::shared_ptr<Exchange>)>;

  // Binds and listens (throws Error when it cannot); serves from run() on.
  explicit HttpServer(HttpConfig config);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;
  // What to call when draining starts, and when its time is over (cancel what still runs). Before
  // run().
  void on_drain(std::function<void()> started, std::function<void()> overdue);
  // Serves until stop() or a signal, then drains; returns when every answer has left or the drain
  // time is over.
  void run(Handler handler);
  // Starts draining. From any thread, any number of times.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace foretoken
