// Bytes as a client may send them, to a real HTTP server over a socket: framing, limits,
// pipelining. The handler answers at once, whole or as a stream.

#include <optional>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kit.h"
#include "server/http/http_server.h"
#include "targets.h"

namespace foretoken::fuzz {
namespace {

constexpr std::size_t kMaxHeader = 2048;
constexpr std::size_t kMaxBody = 1024;

void answer(const std::shared_ptr<Exchange>& exchange) {
  const HttpRequest& request = exchange->request();
  CHECK(request.body.size() <= kMaxBody) << "a body over the limit";
  CHECK(request.path.find('\0') == std::string::npos) << "a path with a NUL";
  request.query_value("q");
  request.header("content-type");
  if (request.path.size() % 2 == 0) return exchange->reply({.body = request.body});
  exchange->start_stream("text/event-stream");
  exchange->send(request.path);
  exchange->finish_stream();
}

// Some requests are answered by their head alone.
std::optional<HttpReply> admit(const HttpRequest& head) {
  CHECK(head.body.empty()) << "a body before it was admitted";
  if (!head.path.starts_with("/no")) return std::nullopt;
  return HttpReply{.status = 401, .body = "no"};
}

class Loopback {
 public:
  Loopback() {
    HttpConfig config;
    config.io_threads = 1;
    config.handle_signals = false;
    config.max_header_bytes = kMaxHeader;
    config.max_body_bytes = kMaxBody;
    config.drain_timeout = std::chrono::milliseconds(0);
    config.body_budget_bytes = 4 * kMaxBody;
    config.linger_timeout = config.overdue_timeout = std::chrono::milliseconds(10);
    server_ = std::make_unique<HttpServer>(config);
    server_->start({.admit = admit, .handle = answer});
    thread_ = std::thread([this] { server_->run(); });
  }
  ~Loopback() {
    server_->stop();
    thread_.join();
  }

  // Sends all bytes and reads until the server closes.
  std::string exchange(std::string_view bytes) const {
    const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(client >= 0) << "no socket";
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(server_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0)
        << "no connection";
    // Without rests of closed connections: there are as many as inputs.
    const linger at_once{1, 0};
    setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    const timeval patience{15, 0};
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    while (!bytes.empty()) {
      const auto sent = send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) break;  // the server refused and closed
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    shutdown(client, SHUT_WR);
    std::string received;
    char area[4096];
    for (ssize_t got; (got = recv(client, area, sizeof area, 0)) != 0;) {
      if (got < 0) {
        CHECK(errno != EAGAIN) << "the server neither answers nor closes";
        break;
      }
      received.append(area, static_cast<std::size_t>(got));
    }
    close(client);
    return received;
  }

 private:
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

}  // namespace

void http(std::string_view input) {
  static const Loopback loopback;
  const std::string answer = loopback.exchange(input);
  CHECK(answer.empty() || answer.starts_with("HTTP/1.")) << "an answer that is no HTTP: " << answer;
}

}  // namespace foretoken::fuzz
