#include "server/testing/http_client.h"

#include <cerrno>
#include <cstdlib>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace foretoken {
namespace {

// Value of a header, its name given in lower case as the server writes it.
std::string header_value(const std::string& head, const std::string& name) {
  const auto at = head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return {};
  const auto begin = at + name.size() + 4;
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

// Calls with a patience end early where the process was stopped and goes on, by a debugger, say.
template <typename Call>
ssize_t retried(Call call) {
  ssize_t result = 0;
  do result = call();
  while (result < 0 && errno == EINTR);
  return result;
}

}  // namespace

HttpClient::HttpClient(int port, const std::string& address) {
  const auto number = htons(static_cast<std::uint16_t>(port));
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  const bool is_v6 = ::inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) == 1;
  v6.sin6_family = AF_INET6;
  v6.sin6_port = number;
  v4.sin_family = AF_INET;
  v4.sin_port = number;
  ::inet_pton(AF_INET, address.c_str(), &v4.sin_addr);
  socket_ = ::socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
  const timeval patience{60, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const int failed = is_v6 ? ::connect(socket_, reinterpret_cast<const sockaddr*>(&v6), sizeof v6)
                           : ::connect(socket_, reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
  if (failed != 0) close();
}

HttpClient::~HttpClient() { close(); }

void HttpClient::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

void HttpClient::half_close() { ::shutdown(socket_, SHUT_WR); }

std::size_t HttpClient::flood(std::string_view piece, std::size_t most) {
  constexpr int kPatienceMs = 200;
  std::size_t total = 0;
  while (total < most) {
    pollfd writable{socket_, POLLOUT, 0};
    if (::poll(&writable, 1, kPatienceMs) <= 0) break;
    const auto offset = total % piece.size();  // no piece is left half sent in the middle
    const auto sent =
        ::send(socket_, piece.data() + offset, piece.size() - offset, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EAGAIN) continue;
    if (sent <= 0) break;
    total += static_cast<std::size_t>(sent);
  }
  return total;
}

void HttpClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent =
        retried([&] { return ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL); });
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

bool HttpClient::fill() {
  char area[65536];
  const auto got = retried([&] { return ::recv(socket_, area, sizeof area, 0); });
  if (got <= 0) return false;
  buffer_.append(area, static_cast<std::size_t>(got));
  return true;
}

std::string HttpClient::read_until(std::string_view mark) {
  while (buffer_.find(mark) == std::string::npos)
    if (!fill()) break;
  return buffer_;
}

bool HttpClient::at_end() {
  errno = 0;
  return buffer_.empty() && !fill() && errno != EAGAIN;
}

bool HttpClient::is_closed() const {
  char byte = 0;
  return ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

ClientReply HttpClient::read_reply(bool has_body) {
  ClientReply reply;
  auto end = std::string::npos;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos)
    if (!fill()) return reply;
  reply.head = buffer_.substr(0, end + 2);
  buffer_.erase(0, end + 4);
  reply.status = std::atoi(reply.head.c_str() + 9);
  if (!has_body || reply.status < 200 || reply.status == 204 || reply.status == 304) return reply;
  if (header_value(reply.head, "transfer-encoding") == "chunked") {
    while (true) {
      auto line = std::string::npos;
      while ((line = buffer_.find("\r\n")) == std::string::npos)
        if (!fill()) return reply;
      const auto size = std::strtoul(buffer_.c_str(), nullptr, 16);
      while (buffer_.size() < line + 2 + size + 2)
        if (!fill()) return reply;
      reply.body += buffer_.substr(line + 2, size);
      buffer_.erase(0, line + 2 + size + 2);
      if (size == 0) return reply;
    }
  }
  const std::string length = header_value(reply.head, "content-length");
  if (length.empty()) {  // until the server closes
    while (fill()) {
    }
    reply.body.swap(buffer_);
    return reply;
  }
  const std::size_t size = std::strtoul(length.c_str(), nullptr, 10);
  while (buffer_.size() < size)
    if (!fill()) break;
  reply.body = buffer_.substr(0, size);
  buffer_.erase(0, size);
  return reply;
}

ClientReply HttpClient::request(std::string_view method, std::string_view path,
                                std::string_view body, std::string_view headers) {
  std::string text =
      fmt::format("{} {} HTTP/1.1\r\nHost: test.localhost\r\n{}", method, path, headers);
  if (!body.empty() || method == "POST")
    text += fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", body.size());
  send(text + "\r\n" + std::string(body));
  return read_reply(method != "HEAD");
}

std::vector<std::string> sse_events(std::string_view body) {
  std::vector<std::string> out;
  while (!body.empty()) {
    const auto end = body.find("\n\n");
    std::string_view event = body.substr(0, end);
    if (event.starts_with("event: "))  // the name of those that have one
      event.remove_prefix(std::min(event.size(), event.find('\n') + 1));
    if (event.starts_with("data: ")) out.emplace_back(event.substr(6));
    if (end == std::string_view::npos) break;
    body.remove_prefix(end + 2);
  }
  return out;
}

ClientReply get(int port, std::string_view path, std::string_view headers) {
  return HttpClient(port).request("GET", path, {}, headers);
}

ClientReply post(int port, std::string_view path, std::string_view body, std::string_view headers) {
  return HttpClient(port).request("POST", path, body, headers);
}

}  // namespace foretoken
