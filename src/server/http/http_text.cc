#include "server/http/http_text.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace foretoken {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> decode(std::string_view text, char plus) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '+') c = plus;
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (c == '\0') return std::nullopt;
    out.push_back(c);
  }
  return out;
}

}  // namespace

std::string_view http_status_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Unknown";
  }
}

std::optional<std::string> percent_decode(std::string_view text) { return decode(text, '+'); }
std::optional<std::string> percent_decode_query(std::string_view text) { return decode(text, ' '); }

std::string_view HttpRequest::header(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers)
    if (name == lower_case_name) return value;
  return {};
}

std::string HttpRequest::query_value(std::string_view name) const {
  std::string_view rest = query;
  while (!rest.empty()) {
    const auto pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const auto equals = pair.find('=');
    if (pair.substr(0, equals) != name || equals == std::string_view::npos) continue;
    return percent_decode_query(pair.substr(equals + 1)).value_or("");
  }
  return {};
}

bool parse_target(std::string_view target, HttpRequest& out) {
  const auto scheme = target.find("://");
  if (!target.starts_with('/') && scheme != std::string_view::npos) {
    const auto slash = target.find('/', scheme + 3);
    target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
  }
  if (target != "*" && !target.starts_with('/')) return false;
  target = target.substr(0, target.find('#'));
  const auto question = target.find('?');
  auto path = percent_decode(target.substr(0, question));
  if (!path) return false;
  out.path = *std::move(path);
  if (question != std::string_view::npos) out.query = target.substr(question + 1);
  return true;
}

std::string reply_head(const HttpReply& reply, const Framing& framing) {
  std::string out =
      fmt::format("HTTP/1.1 {} {}\r\n", reply.status, http_status_phrase(reply.status));
  out += "server: foretoken\r\n";
  if (!reply.content_type.empty()) out += "content-type: " + reply.content_type + "\r\n";
  switch (framing.body) {
    case Framing::Body::kLength:
      if (reply.status != 204 && reply.status != 304)
        out += fmt::format("content-length: {}\r\n", framing.length);
      break;
    case Framing::Body::kChunked:
      out += "transfer-encoding: chunked\r\n";
      break;
    case Framing::Body::kUntilClose:
      break;
  }
  for (const auto& [name, value] : reply.headers) out += name + ": " + value + "\r\n";
  out += framing.common;
  out += framing.keep_alive ? "connection: keep-alive\r\n\r\n" : "connection: close\r\n\r\n";
  return out;
}

void append_chunk(std::string& out, std::string_view piece) {
  fmt::format_to(std::back_inserter(out), "{:x}\r\n", piece.size());
  out.append(piece);
  out.append("\r\n");
}

}  // namespace foretoken
