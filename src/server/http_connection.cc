#include "server/http_connection.h"

#include <algorithm>
#include <cctype>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

namespace foretoken {
namespace {

namespace http = boost::beast::http;

constexpr std::chrono::milliseconds kLingerTime{2'000};

// The exchange outlives its connection when the client leaves: then every call does nothing.
class ConnectionExchange final : public Exchange {
 public:
  ConnectionExchange(HttpRequest request, const std::shared_ptr<Connection>& connection,
                     std::shared_ptr<Hub> hub, std::uint64_t serial)
      : request_(std::move(request)),
        connection_(connection),
        backlog_(connection->backlog),
        hub_(std::move(hub)),
        serial_(serial) {}

  // A handler that forgot to answer must not leave the client waiting.
  ~ConnectionExchange() override {
    on_strand([](Connection& connection) {
      if (connection.stream_started())
        connection.finish_stream();
      else
        connection.reply({.status = 500, .body = R"({"error":{"message":"internal error"}})"});
    });
  }

  const HttpRequest& request() const override { return request_; }

  void reply(HttpReply reply) override {
    on_strand([reply = std::move(reply)](Connection& c) { c.reply(reply); });
  }
  void start_stream(std::string content_type) override {
    on_strand([type = std::move(content_type)](Connection& c) { c.start_stream(type); });
  }
  void send(std::string piece) override {
    on_strand([piece = std::move(piece)](Connection& c) { c.send(piece); });
  }
  void finish_stream() override {
    on_strand([](Connection& c) { c.finish_stream(); });
  }
  std::size_t backlog() const override { return backlog_->load(std::memory_order_relaxed); }
  void post(std::function<void()> function) override {
    const std::shared_lock lock(hub_->gate);
    if (!hub_->open) return;
    if (const auto connection = connection_.lock())
      post_to(connection, [function = std::move(function)](Connection&) { function(); });
  }
  void on_closed(std::function<void()> callback) override {
    on_strand([callback = std::move(callback)](Connection& c) { c.closed_callback = callback; });
  }
  void on_drained(std::function<void()> callback) override {
    on_strand([callback = std::move(callback)](Connection& c) { c.drained_callback = callback; });
  }

 private:
  // Runs function(connection) on the strand, at once when called there, if the connection still
  // answers this exchange. Other threads touch the connection only while the gate is held, because
  // it must not outlive the I/O context.
  template <typename Function>
  void on_strand(Function function) {
    std::shared_ptr<Connection> here;
    {
      const std::shared_lock lock(hub_->gate);
      if (!hub_->open) return;
      auto connection = connection_.lock();
      if (!connection) return;
      if (!connection->strand().running_in_this_thread())
        return post_to(connection, std::move(function));
      here = std::move(connection);
    }
    if (here->is_answering(serial_)) function(*here);
  }

  template <typename Function>
  void post_to(const std::shared_ptr<Connection>& connection, Function function) {
    asio::post(connection->strand(),
               [connection, serial = serial_, function = std::move(function)] {
                 if (connection->is_answering(serial)) function(*connection);
               });
  }

  HttpRequest request_;
  std::weak_ptr<Connection> connection_;
  std::shared_ptr<std::atomic<std::size_t>> backlog_;
  std::shared_ptr<Hub> hub_;
  std::uint64_t serial_;
};

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string error_body(const std::string& message) {
  return R"({"error":{"message":")" + message + R"("}})";
}

}  // namespace

struct Connection::Parser : http::request_parser<http::string_body> {};

Connection::Connection(Socket socket, std::shared_ptr<Hub> hub)
    : hub_(std::move(hub)), socket_(std::move(socket)), timer_(socket_.get_executor()) {}

Connection::~Connection() = default;

void Connection::start() {
  boost::system::error_code ignored;
  socket_.set_option(tcp::no_delay(true), ignored);
  const auto remote = socket_.remote_endpoint(ignored);
  if (!ignored) client_ = remote.address().to_string() + ":" + std::to_string(remote.port());
  parse();
}

void Connection::abandon() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

void Connection::read() {
  if (reading_ || phase_ == Phase::kClosed) return;
  if (phase_ == Phase::kAnswering && input_.size() >= kPipelineBytes) return;
  reading_ = true;
  socket_.async_read_some(
      asio::buffer(read_area_),
      [self = shared_from_this()](const boost::system::error_code& error, std::size_t bytes) {
        self->reading_ = false;
        if (self->phase_ == Phase::kClosed) return;
        if (error) return self->close();
        self->on_read(bytes);
      });
}

void Connection::on_read(std::size_t bytes) {
  if (phase_ == Phase::kLingering) return read();
  input_.append(read_area_.data(), bytes);
  if (phase_ == Phase::kReading)
    parse();
  else
    read();
}

void Connection::parse() {
  if (!parser_) {
    input_.erase(0, input_.find_first_not_of("\r\n"));
    if (input_.empty()) {
      arm(hub_->config.idle_timeout);
      return read();
    }
    parser_ = std::make_unique<Parser>();
    parser_->header_limit(static_cast<std::uint32_t>(hub_->config.max_header_bytes));
    parser_->body_limit(hub_->config.max_body_bytes);
    parser_->eager(true);
    head_seen_ = false;
    arm(hub_->config.header_timeout);
  }
  boost::system::error_code error;
  const std::size_t used = parser_->put(asio::buffer(input_), error);
  input_.erase(0, used);
  if (error && error != http::error::need_more) return on_parse_error(error);
  if (parser_->is_header_done()) {
    if (!head_seen_) on_head();
    if (phase_ != Phase::kReading) return;
    if (parser_->is_done()) return begin_answer();
    arm(hub_->config.body_timeout);
  }
  read();
}

void Connection::on_parse_error(const boost::system::error_code& error) {
  if (error == http::error::body_limit)
    return refuse(413, "the request body is larger than " +
                           std::to_string(hub_->config.max_body_bytes) + " bytes");
  if (error == http::error::header_limit)
    return refuse(431, "the request head is larger than " +
                           std::to_string(hub_->config.max_header_bytes) + " bytes");
  refuse(400, "malformed HTTP request: " + error.message());
}

// The head is complete: answers an expectation before the body comes.
void Connection::on_head() {
  head_seen_ = true;
  const auto& message = parser_->get();
  const auto coding = lower(std::string_view(message[http::field::transfer_encoding].data(),
                                             message[http::field::transfer_encoding].size()));
  if (!coding.empty() && coding != "chunked")
    return refuse(501, "transfer codings other than chunked are not supported");
  const auto expect = message[http::field::expect];
  if (expect.empty() || parser_->is_done()) return;
  if (lower({expect.data(), expect.size()}) != "100-continue")
    return refuse(417, "only the expectation 100-continue is supported");
  pending_ += "HTTP/1.1 100 Continue\r\n\r\n";
  write();
}

void Connection::begin_answer() {
  auto message = parser_->release();
  parser_.reset();
  HttpRequest request;
  request.client = client_;
  request.method = std::string(message.method_string());
  for (const auto& field : message)
    request.headers.emplace_back(lower({field.name_string().data(), field.name_string().size()}),
                                 std::string(field.value()));
  http11_ = message.version() >= 11;
  keep_alive_ = message.keep_alive();
  const auto target = message.target();
  if (!parse_target({target.data(), target.size()}, request))
    return refuse(400, "malformed request target");
  request.body = std::move(message.body());
  method_ = request.method;
  phase_ = Phase::kAnswering;
  answered_ = false;
  body_ = Framing::Body::kLength;
  ++serial_;
  ++hub_->answering;
  disarm();
  hub_->handler(
      std::make_shared<ConnectionExchange>(std::move(request), shared_from_this(), hub_, serial_));
  read();
}

// Answers a request that never becomes an exchange, and closes.
void Connection::refuse(int status, std::string message) {
  parser_.reset();
  method_.clear();
  keep_alive_ = false;
  phase_ = Phase::kAnswering;
  ++serial_;
  ++hub_->answering;
  answered_ = false;
  reply({.status = status, .body = error_body(message)});
}

void Connection::reply(const HttpReply& reply) {
  const bool keep = keep_alive_ && !hub_->draining;
  keep_alive_ = keep;
  pending_ += reply_head(
      reply,
      {.length = reply.body.size(), .keep_alive = keep, .common = hub_->config.common_headers});
  if (method_ != "HEAD" && reply.status != 204) pending_ += reply.body;
  answered_ = true;
  write();
}

void Connection::start_stream(std::string content_type) {
  body_ = http11_ ? Framing::Body::kChunked : Framing::Body::kUntilClose;
  if (!http11_ || hub_->draining) keep_alive_ = false;
  HttpReply head{.content_type = std::move(content_type)};
  head.headers.emplace_back("cache-control", "no-cache");
  pending_ += reply_head(
      head, {.body = body_, .keep_alive = keep_alive_, .common = hub_->config.common_headers});
  write();
}

void Connection::send(std::string_view piece) {
  if (piece.empty() || !stream_started()) return;
  if (body_ == Framing::Body::kChunked)
    append_chunk(pending_, piece);
  else
    pending_.append(piece);
  write();
}

void Connection::finish_stream() {
  if (body_ == Framing::Body::kChunked) pending_ += "0\r\n\r\n";
  answered_ = true;
  write();
}

void Connection::write() {
  backlog->store(pending_.size() + in_flight_.size() - written_, std::memory_order_relaxed);
  if (writing_ || phase_ == Phase::kClosed) return;
  if (written_ == in_flight_.size()) {
    in_flight_.clear();
    in_flight_.swap(pending_);
    written_ = 0;
  }
  if (in_flight_.empty()) {
    if (phase_ != Phase::kAnswering) return;
    disarm();
    if (answered_) return complete();
    if (drained_callback) drained_callback();
    return;
  }
  writing_ = true;
  arm(phase_ == Phase::kAnswering ? hub_->config.write_timeout : hub_->config.body_timeout);
  socket_.async_write_some(
      asio::buffer(in_flight_) + written_,
      [self = shared_from_this()](const boost::system::error_code& error, std::size_t bytes) {
        self->writing_ = false;
        if (self->phase_ == Phase::kClosed) return;
        if (error) return self->close();
        self->on_written(bytes);
      });
}

void Connection::on_written(std::size_t bytes) {
  written_ += bytes;
  write();
}

void Connection::complete() {
  closed_callback = nullptr;
  drained_callback = nullptr;
  --hub_->answering;
  if (!keep_alive_) return linger();
  phase_ = Phase::kReading;
  parse();
}

// Closing while unread input waits would reset the connection under the client's feet, before it
// has read the answer.
void Connection::linger() {
  phase_ = Phase::kLingering;
  boost::system::error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  arm(kLingerTime);
  read();
}

void Connection::close() {
  if (phase_ == Phase::kClosed) return;
  const bool cut = phase_ == Phase::kAnswering;
  phase_ = Phase::kClosed;
  const auto self = shared_from_this();
  if (cut) {
    --hub_->answering;
    const auto callback = std::move(closed_callback);
    if (callback && !answered_) callback();
  }
  closed_callback = nullptr;
  drained_callback = nullptr;
  boost::system::error_code ignored;
  timer_.cancel(ignored);
  socket_.close(ignored);
  const std::lock_guard lock(hub_->mutex);
  hub_->connections.erase(self);
}

void Connection::arm(std::chrono::milliseconds time) {
  deadline_ = std::chrono::steady_clock::now() + time;
  if (!timer_waiting_ || deadline_ < timer_.expiry()) start_timer();
}

void Connection::start_timer() {
  timer_.expires_at(deadline_);
  timer_waiting_ = true;
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (error || self->phase_ == Phase::kClosed) return;
    self->timer_waiting_ = false;
    if (self->deadline_ == kNever) return;
    if (std::chrono::steady_clock::now() < self->deadline_) return self->start_timer();
    self->on_timeout();
  });
}

void Connection::on_timeout() {
  if (phase_ == Phase::kReading && parser_)
    return refuse(408, "the request did not arrive completely in time");
  close();
}

}  // namespace foretoken
