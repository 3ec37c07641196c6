#pragma once
// One HTTP request and the way back, as plain structs, so that the API files know neither sockets
// nor an HTTP library. An Exchange is answered exactly once: by reply(), or by start_stream(), any
// number of send() and finish_stream(). Answers to a client that has gone are dropped silently.

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace foretoken {

struct HttpRequest {
  std::string method;  // upper case
  std::string path;    // percent-decoded, without query
  std::string query;   // raw, without '?'
  // Body and headers are gone once the handler has returned, see Exchange::release_body().
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string client;                                        // address:port
  // When it was complete: from here on its answer takes time, waiting for a worker included.
  std::chrono::steady_clock::time_point arrived = std::chrono::steady_clock::now();

  std::string_view header(std::string_view lower_case_name) const;  // empty: absent
  std::string query_value(std::string_view name) const;             // percent-decoded, or empty
};

struct HttpReply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};  // further headers
};

// Methods are safe from any thread; callbacks and posted functions run one at a time, in the order
// of the exchange (its strand), and must be short.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual const HttpRequest& request() const = 0;
  // Frees the request's body and headers, which are not read after the handler: an answer may take
  // an hour, and all bodies share a budget. Called on the handler's thread, when it has returned.
  virtual void release_body() = 0;

  virtual void reply(HttpReply reply) = 0;
  virtual void start_stream(std::string content_type) = 0;
  virtual void send(std::string piece) = 0;
  virtual void finish_stream() = 0;

  // Bytes accepted by send() that the client's socket has not taken yet.
  virtual std::size_t backlog() const = 0;
  virtual void post(std::function<void()> function) = 0;
  // Called once when the client has gone before the answer was complete.
  virtual void on_closed(std::function<void()> callback) = 0;
  // Called whenever everything sent so far has left.
  virtual void on_drained(std::function<void()> callback) = 0;
};

}  // namespace foretoken
