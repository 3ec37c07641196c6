#pragma once
// The textual side of HTTP/1.1: status phrases, percent decoding, query strings, reply heads. Pure
// functions; no sockets.

#include <optional>
#include <string>
#include <string_view>

#include "server/http/message.h"

namespace foretoken {

std::string_view http_status_phrase(int status);

// Percent-decodes; nullopt for a broken escape or a NUL. '+' becomes a space only in query strings.
std::optional<std::string> percent_decode(std::string_view text);
std::optional<std::string> percent_decode_query(std::string_view text);

// Splits a request target ("/a%20b?c=d", or "http://host/a") into path and query of `out`; false
// when it is no valid target.
bool parse_target(std::string_view target, HttpRequest& out);

// How a reply is framed on this connection.
struct Framing {
  enum class Body { kLength, kChunked, kUntilClose };
  Body body = Body::kLength;
  std::size_t length = 0;
  bool keep_alive = true;
  std::string_view common = {};  // further header lines, each with CR LF
};

// Status line and headers up to and including the empty line.
std::string reply_head(const HttpReply& reply, const Framing& framing);

// One chunk of a chunked body; an empty piece would end the body and must not be passed.
void append_chunk(std::string& out, std::string_view piece);

}  // namespace foretoken
