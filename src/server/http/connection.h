#pragma once
// Connection: one client's socket as a state machine (reading, answering, lingering). Included by
// the sources of this folder only, because the I/O library is slow to compile. Everything runs on
// the connection's strand. One read is pending at nearly all times, also while an answer is made:
// that is how a client that leaves is noticed. What it holds is bounded: a request's head and body,
// a piece of what is pipelined, and what the exchange sends (whose maker watches the backlog).

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/strand.hpp>

#include "server/http/http_text.h"
#include "server/http/hub.h"
#include "server/http/request_reader.h"

namespace foretoken {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using Strand = asio::strand<asio::io_context::executor_type>;

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = asio::basic_stream_socket<tcp, Strand>;
  using Clock = std::chrono::steady_clock;
  using Timer = asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, Strand>;

  Connection(Socket socket, std::shared_ptr<Hub> hub);
  ~Connection();

  Strand strand() { return socket_.get_executor(); }
  void start();
  // Draining has begun: a request whose body is still coming is refused.
  void on_drain();
  // Takes the one that has been without a request longest off the list, to make room: yield()
  // closes it unless a request has come meanwhile. Any thread; null: all are at work.
  static std::shared_ptr<Connection> longest_waiting(Hub& hub);
  void yield();
  // Once no thread runs handlers any more: the client sees an end instead of silence.
  void abandon();

  // ---- for the exchange with this serial, on the strand
  bool is_answering(std::uint64_t serial) const {
    return phase_ == Phase::kAnswering && serial == serial_ && !answered_;
  }
  void reply(const HttpReply& reply);
  void start_stream(std::string content_type);
  void send(std::string_view piece);
  void finish_stream();
  bool stream_started() const { return body_ != Framing::Body::kLength; }
  std::string_view path() const { return line_.path; }

  std::function<void()> closed_callback, drained_callback;

 private:
  enum class Phase { kReading, kAnswering, kLingering, kClosed };

  void read();
  void on_read(std::size_t bytes);
  void on_input_end();
  void parse();
  void on_head();
  void begin_exchange();
  void end_exchange();
  void stop_waiting();
  void begin_answer();
  void answer_head(const HttpReply& reply);
  void refuse(const Refusal& refusal);
  void write();
  void complete();
  void linger();
  void close();
  void enter_waiting();
  void leave_waiting();
  void ask_by_kernel();
  void watch_for_reset();
  void arm(std::chrono::milliseconds time);
  void disarm() { deadline_ = kNever; }
  void start_timer();
  void on_timeout();

  static constexpr auto kNever = Clock::time_point::max();
  static constexpr int kProbeSeconds = 10;
  static constexpr std::size_t kReadBytes = 8 << 10;
  static constexpr std::size_t kPipelineBytes = 64 << 10;  // further requests kept while answering
  static constexpr std::size_t kLingerBytes = 1 << 20;     // read after a refusal, and dropped
  static constexpr std::size_t kKeptBytes = 64 << 10;      // of buffers between requests

  std::shared_ptr<Hub> hub_;
  Socket socket_;
  Timer timer_;
  Clock::time_point deadline_ = kNever;
  Clock::time_point receive_deadline_ = kNever;  // of the request being read
  bool timer_waiting_ = false;

  Phase phase_ = Phase::kReading;
  std::unique_ptr<RequestReader> reader_;       // null between requests
  std::optional<BodyClaim> claim_;              // for the body being read
  std::shared_ptr<const HttpService> service_;  // of the request being read or answered
  std::vector<char> read_area_ = std::vector<char>(kReadBytes);
  std::string input_;  // received, not parsed yet
  std::size_t lingered_ = 0;
  bool reading_ = false;
  bool input_ended_ = false;  // the client sends no more; it may still wait for the answer
  bool watching_ = false;     // for a reset, because nothing is read

  std::uint64_t serial_ = 0;  // of the exchange being answered
  RequestLine line_;          // of that request; its client holds from the start
  bool keep_alive_ = true;
  std::string answer_headers_;  // further lines of its answer's head
  bool http11_ = true;
  bool is_waited_for_ = false;  // by the drain: its exchange began before
  bool answered_ = false;       // the whole answer is in pending_ or further
  Framing::Body body_ = Framing::Body::kLength;

  std::string pending_;    // to be written
  std::string in_flight_;  // being written
  std::size_t written_ = 0;
  bool writing_ = false;

  std::optional<std::list<Connection*>::iterator> waiting_place_;  // guarded by the hub's mutex

 public:
  // Shared with the exchange, which other threads ask.
  std::shared_ptr<std::atomic<std::size_t>> backlog = std::make_shared<std::atomic<std::size_t>>(0);
};

}  // namespace foretoken
