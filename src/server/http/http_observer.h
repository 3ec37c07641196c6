#pragma once
// HttpObserver: is told of every request and of its answer. The answer may come from the connection
// (the request is malformed, too large or too late), from the router (it is unknown or
// unauthorised) or from a handler. For counting and logging; it changes nothing. Called on I/O
// threads, several at once: it must be thread-safe and short. Every request that began ends exactly
// once, answered or not.

#include <string>
#include <string_view>

namespace foretoken {

struct RequestLine {
  std::string method;  // upper case; empty: the head was never understood
  std::string path;    // percent-decoded, without query
  std::string client;  // address:port
};

class HttpObserver {
 public:
  virtual ~HttpObserver() = default;

  virtual void on_began(const RequestLine& line) = 0;
  // The status is known. `body` is the answer's, empty for a stream.
  virtual void on_answered(const RequestLine& line, int status, std::string_view body) = 0;
  // The answer has left, or the client has.
  virtual void on_ended(const RequestLine& line) = 0;
};

}  // namespace foretoken
