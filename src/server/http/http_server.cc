#include "server/http/http_server.h"

#include <csignal>
#include <exception>
#include <thread>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/log.h"
#include "server/http/connection.h"
#include "server/http/error_reply.h"
#include "server/http/listen.h"

namespace foretoken {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kAcceptRetry{100};
constexpr std::chrono::milliseconds kDrainTick{20};
constexpr std::chrono::seconds kLogInterval{10};
// How far the limit of connections may be passed while those that make room are being closed.
constexpr std::size_t kLeaving = 32;

// An exception (no memory for an answer) ends the handler that threw, not the server.
void run_io(asio::io_context& io) {
  while (true) {
    try {
      io.run();
      return;
    } catch (const std::exception& error) {
      log_error("an I/O handler failed: {}", error.what());
    }
  }
}

// Whether another line is due about something that may happen a thousand times a second.
class RareLog {
 public:
  bool is_due() {
    const auto now = Clock::now();
    if (now < next_) return false;
    next_ = now + kLogInterval;
    return true;
  }

 private:
  Clock::time_point next_{};
};

}  // namespace

struct HttpServer::State {
  explicit State(HttpConfig config)
      : hub(std::make_shared<Hub>(std::move(config))),
        acceptors(listen_on(control, hub->config.host, hub->config.port)) {}

  void accept(tcp::acceptor& acceptor);
  void accept_later(tcp::acceptor& acceptor);
  void welcome(Connection::Socket socket);
  void turn_away(Connection::Socket& socket) const;
  void wait_for_signal();
  void begin_drain();
  void drain_tick();
  void join();

  asio::io_context io;
  std::shared_ptr<Hub> hub;
  Strand control = asio::make_strand(io.get_executor());  // what follows lives on it
  std::vector<tcp::acceptor> acceptors;
  const int bound_port = acceptors.front().local_endpoint().port();
  asio::signal_set signals{control};
  asio::steady_timer drain_timer{control};
  RareLog accept_log, crowd_log;
  Clock::time_point drain_end;
  std::function<void()> drain_started, drain_overdue;
  bool overdue = false;

  std::vector<std::thread> threads;  // of the thread that calls start() and run()
};

void HttpServer::State::accept(tcp::acceptor& acceptor) {
  acceptor.async_accept(
      asio::make_strand(io.get_executor()),
      [this, &acceptor](const boost::system::error_code& error, Connection::Socket socket) {
        if (!acceptor.is_open()) return;
        if (error) {
          if (accept_log.is_due())
            log_warning("cannot accept a connection: {} (tried again until it works)",
                        error.message());
          return accept_later(acceptor);
        }
        try {
          welcome(std::move(socket));
        } catch (const std::exception& fault) {  // no memory for it: it is closed, others are not
          log_error("a connection could not be served: {}", fault.what());
        }
        accept(acceptor);
      });
}

// Most likely there are no file descriptors left: waits for some to come back.
void HttpServer::State::accept_later(tcp::acceptor& acceptor) {
  auto retry = std::make_shared<asio::steady_timer>(control, kAcceptRetry);
  retry->async_wait([this, retry, &acceptor](const boost::system::error_code& error) {
    if (!error && acceptor.is_open()) accept(acceptor);
  });
}

void HttpServer::State::welcome(Connection::Socket socket) {
  const std::size_t most = hub->config.max_connections;
  std::size_t open = 0;
  {
    const std::lock_guard lock(hub->mutex);
    open = hub->connections.size();
  }
  if (open >= most) {
    if (crowd_log.is_due())
      log_warning("{} connections are open, as many as may be: idle ones make room", open);
    const auto leaving = open < most + kLeaving ? Connection::longest_waiting(*hub) : nullptr;
    if (!leaving) return turn_away(socket);
    asio::post(leaving->strand(), [leaving] { leaving->yield(); });
  }
  auto connection = std::make_shared<Connection>(std::move(socket), hub);
  {
    const std::lock_guard lock(hub->mutex);
    hub->connections.insert(connection);
  }
  asio::post(connection->strand(), [connection] { connection->start(); });
}

// Without reading and without waiting, because there is no room for either.
void HttpServer::State::turn_away(Connection::Socket& socket) const {
  HttpReply reply = error_reply(ErrorStyle::kNative, {"too many connections are open", 503});
  reply.headers.emplace_back("retry-after", "1");
  const std::string text =
      reply_head(reply, {.length = reply.body.size(), .keep_alive = false}) + reply.body;
  boost::system::error_code ignored;
  socket.non_blocking(true, ignored);
  socket.write_some(asio::buffer(text), ignored);
  socket.shutdown(tcp::socket::shutdown_send, ignored);
}

void HttpServer::State::wait_for_signal() {
  signals.async_wait([this](const boost::system::error_code& error, int signal) {
    if (error) return;
    if (hub->draining) {  // the user insists
      std::signal(signal, SIG_DFL);
      std::raise(signal);
      return;
    }
    log_info("signal {}: draining, a second signal ends at once", signal);
    begin_drain();
    wait_for_signal();
  });
}

void HttpServer::State::begin_drain() {
  if (hub->draining.exchange(true)) return;
  if (drain_started) drain_started();
  {
    const std::lock_guard lock(hub->mutex);
    for (const auto& connection : hub->connections)
      asio::post(connection->strand(), [connection] { connection->on_drain(); });
  }
  drain_end = Clock::now() + hub->config.drain_timeout;
  drain_tick();
}

void HttpServer::State::drain_tick() {
  if (hub->answering == 0) return io.stop();
  const auto now = Clock::now();
  if (now >= drain_end && !overdue) {
    overdue = true;
    log_warning("draining took longer than {} s, cancelling {} running requests",
                static_cast<double>(hub->config.drain_timeout.count()) / 1000.0,
                hub->answering.load());
    if (drain_overdue) drain_overdue();
  }
  if (now >= drain_end + hub->config.overdue_timeout) return io.stop();
  drain_timer.expires_after(kDrainTick);
  drain_timer.async_wait([this](const boost::system::error_code& error) {
    if (!error) drain_tick();
  });
}

void HttpServer::State::join() {
  for (auto& thread : threads) thread.join();
  threads.clear();
}

HttpServer::HttpServer(HttpConfig config) : state_(std::make_unique<State>(std::move(config))) {}

HttpServer::~HttpServer() {
  state_->io.stop();
  state_->join();
  Hub& hub = *state_->hub;
  {
    const std::unique_lock lock(hub.gate);
    hub.open = false;
  }
  std::unordered_set<std::shared_ptr<Connection>> connections;
  const std::lock_guard lock(hub.mutex);
  hub.waiting.clear();
  connections.swap(hub.connections);
}

int HttpServer::port() const { return state_->bound_port; }

void HttpServer::start(HttpService service) {
  replace(std::move(service));
  asio::post(state_->control, [this] {
    for (tcp::acceptor& acceptor : state_->acceptors) state_->accept(acceptor);
  });
  for (int i = 0; i < state_->hub->config.io_threads; ++i)
    state_->threads.emplace_back([this] { run_io(state_->io); });
}

void HttpServer::replace(HttpService service) {
  auto next = std::make_shared<const HttpService>(std::move(service));
  const std::lock_guard lock(state_->hub->mutex);
  state_->hub->service.swap(next);
}

void HttpServer::on_drain(std::function<void()> started, std::function<void()> overdue) {
  state_->drain_started = std::move(started);
  state_->drain_overdue = std::move(overdue);
}

void HttpServer::run() {
  if (state_->hub->config.handle_signals) {
    state_->signals.add(SIGTERM);
    state_->signals.add(SIGINT);
    asio::post(state_->control, [this] { state_->wait_for_signal(); });
  }
  state_->join();
  boost::system::error_code ignored;
  for (tcp::acceptor& acceptor : state_->acceptors) acceptor.close(ignored);
  const std::lock_guard lock(state_->hub->mutex);
  for (const auto& connection : state_->hub->connections) connection->abandon();
}

void HttpServer::stop() {
  asio::post(state_->control, [this] { state_->begin_drain(); });
}

}  // namespace foretoken
