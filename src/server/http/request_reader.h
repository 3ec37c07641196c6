#pragma once
// RequestReader: one HTTP/1.1 request out of a stream of bytes, its head first, then its body. It
// knows framing and limits, not sockets, time or routes: the caller decides between head and body
// whether the body is wanted at all. Whatever is sent, no more than a head, a body and a bounded
// piece of framing (chunk headers, extensions, trailers) is kept or read. Trailers are dropped:
// they come after everything was decided by the head. One object per request; not thread-safe.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "server/http/message.h"

namespace foretoken {

struct RequestLimits {
  std::size_t head_bytes = 64 << 10;
  std::size_t header_fields = 256;  // each costs ten times its bytes
  std::size_t body_bytes = std::size_t{64} << 20;
};

class RequestReader {
 public:
  explicit RequestReader(RequestLimits limits);
  ~RequestReader();

  // Takes what it understands from the front of `input`, up to the end of the head. A refusal ends
  // the connection: where the next request would begin is unknown.
  std::optional<Refusal> read_head(std::string& input);
  // The same for the body, once the head is there.
  std::optional<Refusal> read_body(std::string& input);

  bool has_head() const { return has_head_; }
  bool is_done() const;

  // ---- once has_head()
  const HttpRequest& request() const { return request_; }  // the body only with take()
  bool is_http11() const { return is_http11_; }
  bool keeps_alive() const { return keeps_alive_; }
  bool has_body() const;                                // bytes follow the head
  std::optional<std::uint64_t> announced_body() const;  // nullopt: chunked
  bool expects_continue() const { return expects_continue_; }
  std::size_t body_bytes() const;  // so far

  // The whole request; once is_done().
  HttpRequest take();

  // As far as it was understood, also of a head that is malformed or incomplete.
  std::string method_so_far() const;
  std::string path_so_far() const;

 private:
  struct Parser;

  std::optional<Refusal> understand_head();
  std::optional<Refusal> put(std::string& input);

  RequestLimits limits_;
  std::unique_ptr<Parser> parser_;
  HttpRequest request_;
  std::size_t taken_ = 0;  // bytes of the head, then of the framed body
  bool has_head_ = false;
  bool is_http11_ = true;
  bool keeps_alive_ = false;
  bool expects_continue_ = false;
};

}  // namespace foretoken
