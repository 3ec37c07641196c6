#pragma once
// Connection: one client's socket as a state machine (reading, answering, lingering), and the
// Exchange of the request it is answering. Included by http_server.cc only, because the HTTP
// library is slow to compile. Everything runs on the connection's strand. One read is pending at
// nearly all times, also while an answer is made: that is how a client that leaves is noticed.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/strand.hpp>

#include "server/http_server.h"
#include "server/http_text.h"

namespace foretoken {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using Strand = asio::strand<asio::io_context::executor_type>;

class Connection;

// What all connections share. `connections` keeps them alive; `open` turns false when the I/O
// context is about to go, after which no other thread may reach into a connection.
struct Hub {
  HttpConfig config;
  HttpServer::Handler handler;
  std::atomic<bool> draining{false};
  std::atomic<int> answering{0};

  std::shared_mutex gate;
  bool open = true;  // guarded by gate

  std::mutex mutex;
  std::unordered_set<std::shared_ptr<Connection>> connections;  // guarded by mutex
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = asio::basic_stream_socket<tcp, Strand>;
  using Timer = asio::basic_waitable_timer<std::chrono::steady_clock,
                                           asio::wait_traits<std::chrono::steady_clock>, Strand>;

  Connection(Socket socket, std::shared_ptr<Hub> hub);
  ~Connection();

  Strand strand() { return socket_.get_executor(); }
  void start();
  // Once no thread runs handlers any more: the client sees an end instead of silence.
  void abandon();

  // ---- for the Exchange with this serial, on the strand
  bool is_answering(std::uint64_t serial) const {
    return phase_ == Phase::kAnswering && serial == serial_ && !answered_;
  }
  void reply(const HttpReply& reply);
  void start_stream(std::string content_type);
  void send(std::string_view piece);
  void finish_stream();
  bool stream_started() const { return body_ != Framing::Body::kLength; }

  std::function<void()> closed_callback, drained_callback;

 private:
  struct Parser;
  enum class Phase { kReading, kAnswering, kLingering, kClosed };

  void read();
  void on_read(std::size_t bytes);
  void parse();
  void on_parse_error(const boost::system::error_code& error);
  void on_head();
  void begin_answer();
  void refuse(int status, std::string message);
  void write();
  void on_written(std::size_t bytes);
  void complete();
  void linger();
  void close();
  void arm(std::chrono::milliseconds time);
  void disarm() { deadline_ = kNever; }
  void start_timer();
  void on_timeout();

  static constexpr auto kNever = std::chrono::steady_clock::time_point::max();
  static constexpr std::size_t kReadBytes = 8 << 10;
  static constexpr std::size_t kPipelineBytes = 64 << 10;  // further requests kept while answering

  std::shared_ptr<Hub> hub_;
  Socket socket_;
  Timer timer_;
  std::chrono::steady_clock::time_point deadline_ = kNever;
  bool timer_waiting_ = false;

  Phase phase_ = Phase::kReading;
  std::unique_ptr<Parser> parser_;  // null between requests
  std::vector<char> read_area_ = std::vector<char>(kReadBytes);
  std::string input_;  // received, not parsed yet
  bool reading_ = false;
  bool head_seen_ = false;

  std::uint64_t serial_ = 0;  // of the exchange being answered
  std::string client_;
  std::string method_;
  bool keep_alive_ = true;
  bool http11_ = true;
  bool answered_ = false;  // the whole answer is in pending_ or further
  Framing::Body body_ = Framing::Body::kLength;

  std::string pending_;    // to be written
  std::string in_flight_;  // being written
  std::size_t written_ = 0;
  bool writing_ = false;

 public:
  // Shared with the exchange, which other threads ask.
  std::shared_ptr<std::atomic<std::size_t>> backlog = std::make_shared<std::atomic<std::size_t>>(0);
};

}  // namespace foretoken
