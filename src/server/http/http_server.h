#pragma once
// HttpServer: sockets, HTTP/1.1 parsing and framing, time-outs, limits, back-pressure, draining.
// Not routing and not an API: a service decides by a request's head whether it is wanted, and gets
// every complete request as an Exchange. A few I/O threads serve all connections; a connection
// costs a buffer, never a thread. What the service does runs on an I/O thread and must be short.

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/http/http_observer.h"
#include "server/http/message.h"

namespace foretoken {

struct HttpConfig {
  std::string host = "127.0.0.1";  // a name stands for all its addresses
  int port = 0;                    // 0: any free port
  int io_threads = 2;
  // Header lines of every answer to a request with this head, each with CR LF; empty: none.
  std::function<std::string(const HttpRequest& head)> answer_headers = {};
  bool handle_signals = true;  // SIGTERM and SIGINT drain; a second one ends the process
  std::size_t max_connections = 8192;
  std::size_t max_header_bytes = 64 << 10;
  std::size_t max_body_bytes = std::size_t{64} << 20;
  std::size_t body_budget_bytes = std::size_t{256} << 20;  // of all requests together
  std::chrono::milliseconds header_timeout{30'000};    // from a request's first byte to its head
  std::chrono::milliseconds body_timeout{30'000};      // without progress
  std::chrono::milliseconds receive_timeout{120'000};  // from its first byte to its last
  std::chrono::milliseconds idle_timeout{75'000};      // between requests
  std::chrono::milliseconds write_timeout{120'000};    // client takes nothing of a pending answer
  std::chrono::milliseconds linger_timeout{2'000};     // for what a refused client still sends
  std::chrono::milliseconds drain_timeout{25'000};     // running exchanges after stop()
  std::chrono::milliseconds overdue_timeout{3'000};    // and once they were cancelled
};

struct HttpService {
  // Decides by the head alone (the body has not come yet). A reply is the answer: the body is
  // neither asked for nor kept. Empty: everything is wanted.
  std::function<std::optional<HttpReply>(const HttpRequest& head)> admit = {};
  std::function<void(std::shared_ptr<Exchange>)> handle = {};
  HttpObserver* observer = nullptr;  // outlives the server; null: none
};

class HttpServer {
 public:
  // Binds and listens (throws Error when it cannot): the port is taken, connections wait.
  explicit HttpServer(HttpConfig config);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;
  // Answers from now on, on threads of its own. The service may be replaced at any time, for
  // requests whose head comes later.
  void start(HttpService service);
  void replace(HttpService service);
  // What to call when draining starts, and when its time is over (cancel what still runs). Before
  // run().
  void on_drain(std::function<void()> started, std::function<void()> overdue);
  // Blocks until stop() or a signal and the drain that follows: every answer that was begun before
  // has left or the drain time is over. Until then connections are accepted and the service asked;
  // what it answers is not waited for. Signals have their usual effect until here.
  void run();
  // Starts draining. From any thread, any number of times.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace foretoken
