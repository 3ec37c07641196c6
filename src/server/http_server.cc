#include "server/http_server.h"

#include <csignal>
#include <exception>
#include <thread>

#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/error.h"
#include "base/log.h"
#include "server/http_connection.h"

namespace foretoken {
namespace {

constexpr std::chrono::milliseconds kAcceptRetry{100};
constexpr std::chrono::milliseconds kDrainTick{20};
constexpr std::chrono::milliseconds kOverdueGrace{3'000};

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

}  // namespace

struct HttpServer::State {
  explicit State(HttpConfig config) {
    hub->config = std::move(config);
    listen();
  }

  void listen();
  void accept();
  void wait_for_signal();
  void begin_drain();
  void drain_tick();

  asio::io_context io;
  std::shared_ptr<Hub> hub = std::make_shared<Hub>();
  Strand control = asio::make_strand(io.get_executor());  // all members below live on it
  tcp::acceptor acceptor{control};
  asio::signal_set signals{control};
  asio::steady_timer drain_timer{control}, retry{control};
  std::chrono::steady_clock::time_point drain_end;
  std::function<void()> drain_started, drain_overdue;
  bool overdue = false;
  int bound_port = 0;
};

void HttpServer::State::listen() {
  const auto& config = hub->config;
  const std::string where = config.host + ":" + std::to_string(config.port);
  try {
    const auto found = tcp::resolver(control).resolve(config.host, std::to_string(config.port),
                                                      tcp::resolver::passive);
    const tcp::endpoint endpoint = found.begin()->endpoint();
    acceptor.open(endpoint.protocol());
    acceptor.set_option(asio::socket_base::reuse_address(true));
    acceptor.bind(endpoint);
    acceptor.listen(1024);
    bound_port = acceptor.local_endpoint().port();
  } catch (const boost::system::system_error& error) {
    throw Error({.what = "cannot listen for HTTP connections",
                 .where = where,
                 .expected = "a free address of this machine (--host, --port)",
                 .found = error.code().message()});
  }
}

void HttpServer::State::accept() {
  acceptor.async_accept(
      asio::make_strand(io.get_executor()),
      [this](const boost::system::error_code& error, Connection::Socket socket) {
        if (!acceptor.is_open()) return;
        if (error) {  // most likely out of file descriptors: wait for some to come back
          retry.expires_after(kAcceptRetry);
          retry.async_wait([this](const boost::system::error_code& e) {
            if (!e && acceptor.is_open()) accept();
          });
          return;
        }
        auto connection = std::make_shared<Connection>(std::move(socket), hub);
        {
          const std::lock_guard lock(hub->mutex);
          hub->connections.insert(connection);
        }
        asio::post(connection->strand(), [connection] { connection->start(); });
        accept();
      });
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
  // First, so that whoever finds the port closed knows that nothing is accepted any more.
  if (drain_started) drain_started();
  boost::system::error_code ignored;
  acceptor.close(ignored);
  drain_end = std::chrono::steady_clock::now() + hub->config.drain_timeout;
  drain_tick();
}

void HttpServer::State::drain_tick() {
  if (hub->answering == 0) return io.stop();
  const auto now = std::chrono::steady_clock::now();
  if (now >= drain_end && !overdue) {
    overdue = true;
    log_warning("draining took longer than {} s, cancelling {} running requests",
                hub->config.drain_timeout.count() / 1000.0, hub->answering.load());
    if (drain_overdue) drain_overdue();
  }
  if (now >= drain_end + kOverdueGrace) return io.stop();
  drain_timer.expires_after(kDrainTick);
  drain_timer.async_wait([this](const boost::system::error_code& error) {
    if (!error) drain_tick();
  });
}

HttpServer::HttpServer(HttpConfig config) : state_(std::make_unique<State>(std::move(config))) {}

HttpServer::~HttpServer() {
  {
    const std::unique_lock lock(state_->hub->gate);
    state_->hub->open = false;
  }
  std::unordered_set<std::shared_ptr<Connection>> connections;
  {
    const std::lock_guard lock(state_->hub->mutex);
    connections.swap(state_->hub->connections);
  }
}

int HttpServer::port() const { return state_->bound_port; }

void HttpServer::on_drain(std::function<void()> started, std::function<void()> overdue) {
  state_->drain_started = std::move(started);
  state_->drain_overdue = std::move(overdue);
}

void HttpServer::run(Handler handler) {
  state_->hub->handler = std::move(handler);
  if (state_->hub->config.handle_signals) {
    state_->signals.add(SIGTERM);
    state_->signals.add(SIGINT);
    state_->wait_for_signal();
  }
  asio::post(state_->control, [this] { state_->accept(); });
  std::vector<std::thread> threads;
  for (int i = 1; i < state_->hub->config.io_threads; ++i)
    threads.emplace_back([this] { run_io(state_->io); });
  run_io(state_->io);
  for (auto& thread : threads) thread.join();
  const std::lock_guard lock(state_->hub->mutex);
  for (const auto& connection : state_->hub->connections) connection->abandon();
}

void HttpServer::stop() {
  asio::post(state_->control, [this] { state_->begin_drain(); });
}

}  // namespace foretoken
