#include "server/http/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>

#include "server/http/connection_exchange.h"
#include "server/http/error_reply.h"

namespace foretoken {
namespace {

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

void keep_at_most(std::string& buffer, std::size_t bytes) {
  if (buffer.capacity() > bytes && buffer.size() <= bytes) buffer.shrink_to_fit();
}

HttpReply no_room_reply(std::string_view path) {
  HttpReply reply = error_reply(
      error_style_of(path),
      {"the bodies of other requests fill the memory that is kept for them; try again", 503});
  reply.headers.emplace_back("retry-after", "1");
  return reply;
}

}  // namespace

Connection::Connection(Socket socket, std::shared_ptr<Hub> hub)
    : hub_(std::move(hub)), socket_(std::move(socket)), timer_(socket_.get_executor()) {}

Connection::~Connection() = default;

void Connection::start() {
  boost::system::error_code ignored;
  socket_.set_option(tcp::no_delay(true), ignored);
  const auto remote = socket_.remote_endpoint(ignored);
  if (!ignored) line_.client = remote.address().to_string() + ":" + std::to_string(remote.port());
  arm(hub_->config.idle_timeout);
  enter_waiting();
  parse();
}

void Connection::on_drain() {
  if (phase_ == Phase::kReading && reader_ && reader_->has_head())
    refuse({"the server is shutting down", 503});
}

void Connection::yield() {
  const bool waits = phase_ == Phase::kReading && !(reader_ && reader_->has_head());
  if (waits || phase_ == Phase::kLingering) close();
}

void Connection::abandon() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

void Connection::read() {
  if (reading_ || phase_ == Phase::kClosed) return;
  const bool answering = phase_ == Phase::kAnswering;
  if (input_ended_) return answering ? watch_for_reset() : close();
  if (answering && input_.size() >= kPipelineBytes) return watch_for_reset();
  reading_ = true;
  socket_.async_read_some(
      asio::buffer(read_area_),
      [self = shared_from_this()](const boost::system::error_code& error, std::size_t bytes) {
        self->reading_ = false;
        if (self->phase_ == Phase::kClosed) return;
        if (error == asio::error::eof) return self->on_input_end();
        if (error) return self->close();
        self->on_read(bytes);
      });
}

void Connection::on_read(std::size_t bytes) {
  if (phase_ == Phase::kLingering) {
    lingered_ += bytes;
    return lingered_ > kLingerBytes ? close() : read();
  }
  input_.append(read_area_.data(), bytes);
  if (phase_ == Phase::kReading)
    parse();
  else
    read();
}

// The client sends no more. It may have gone, or wait for its answer: the two look the same until
// something is sent to it, upon which one that has gone answers with a reset. An interim response,
// of which there may be any number, asks that question where the answer is not ready; HTTP/1.0 has
// none, there the kernel asks.
void Connection::on_input_end() {
  input_ended_ = true;
  if (phase_ != Phase::kAnswering) return close();
  if (!http11_) {
    ask_by_kernel();
  } else if (!answered_ && !stream_started()) {
    pending_ += kContinue;
    write();
  }
  watch_for_reset();
}

// Probes without content. The system of a client that has gone acknowledges them for a minute (as
// Linux is configured), then it resets the connection.
void Connection::ask_by_kernel() {
  const int seconds = kProbeSeconds;
  for (const int name : {TCP_KEEPIDLE, TCP_KEEPINTVL})
    ::setsockopt(socket_.native_handle(), IPPROTO_TCP, name, &seconds, sizeof seconds);
  boost::system::error_code ignored;
  socket_.set_option(tcp::socket::keep_alive(true), ignored);
}

// Notices a client that has gone while nothing is read.
void Connection::watch_for_reset() {
  if (watching_ || phase_ == Phase::kClosed) return;
  watching_ = true;
  socket_.async_wait(tcp::socket::wait_error,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->watching_ = false;
                       if (!error) self->close();
                     });
}

void Connection::parse() {
  if (!reader_) {
    input_.erase(0, input_.find_first_not_of("\r\n"));
    if (input_.empty()) return read();
    const HttpConfig& config = hub_->config;
    reader_ = std::make_unique<RequestReader>(
        RequestLimits{.head_bytes = config.max_header_bytes, .body_bytes = config.max_body_bytes});
    receive_deadline_ = Clock::now() + config.receive_timeout;
    arm(config.header_timeout);
  }
  if (!reader_->has_head()) {
    if (const auto refusal = reader_->read_head(input_)) return refuse(*refusal);
    if (!reader_->has_head()) return read();
    on_head();
    if (phase_ != Phase::kReading) return;
  }
  if (const auto refusal = reader_->read_body(input_)) return refuse(*refusal);
  if (reader_->is_done()) return begin_answer();
  if (!claim_->grow(reader_->body_bytes(), hub_->config.max_body_bytes))
    return answer_head(no_room_reply(line_.path));
  arm(hub_->config.body_timeout);
  read();
}

// Decides by the head whether the body is wanted; only then is it asked for.
void Connection::on_head() {
  leave_waiting();
  service_ = hub_->current_service();
  const HttpRequest& head = reader_->request();
  line_.method = head.method;
  line_.path = head.path;
  http11_ = reader_->is_http11();
  keep_alive_ = reader_->keeps_alive();
  if (const auto& lines = hub_->config.answer_headers) answer_headers_ = lines(head);
  if (service_->admit)
    if (const auto reply = service_->admit(head)) return answer_head(*reply);
  claim_.emplace(hub_->budget);
  if (!claim_->reserve(reader_->announced_body().value_or(0)))
    return answer_head(no_room_reply(line_.path));
  if (!reader_->expects_continue() || reader_->is_done() || !input_.empty()) return;
  pending_ += kContinue;
  write();
}

void Connection::begin_exchange() {
  reader_.reset();
  claim_.reset();
  receive_deadline_ = kNever;
  phase_ = Phase::kAnswering;
  answered_ = false;
  body_ = Framing::Body::kLength;
  ++serial_;
  ++hub_->answering;
  is_waited_for_ = true;
  if (hub_->draining) stop_waiting();
  if (service_->observer != nullptr) service_->observer->on_began(line_);
}

void Connection::stop_waiting() {
  if (is_waited_for_) --hub_->answering;
  is_waited_for_ = false;
}

void Connection::end_exchange() {
  stop_waiting();
  if (service_->observer != nullptr) service_->observer->on_ended(line_);
}

void Connection::begin_answer() {
  HttpRequest request = reader_->take();
  request.client = line_.client;
  request.arrived = std::chrono::steady_clock::now();
  auto claim = std::move(claim_);
  const auto service = service_;
  begin_exchange();
  disarm();
  service->handle(std::make_shared<ConnectionExchange>(std::move(request), std::move(claim),
                                                       shared_from_this(), hub_, serial_));
  read();
}

// Answers a request that never becomes an exchange. A body that follows is not read.
void Connection::answer_head(const HttpReply& reply) {
  if (!reader_->is_done()) keep_alive_ = false;
  begin_exchange();
  this->reply(reply);
  read();
}

// The same for a request whose end cannot be found, which ends the connection.
void Connection::refuse(const Refusal& refusal) {
  if (!service_) {  // the head was never understood
    leave_waiting();
    service_ = hub_->current_service();
    line_.method = reader_->method_so_far();
    line_.path = reader_->path_so_far();
  }
  keep_alive_ = false;
  begin_exchange();
  reply(error_reply(error_style_of(line_.path), refusal));
  arm(hub_->config.write_timeout);  // also where an interim response is still stuck
}

void Connection::reply(const HttpReply& reply) {
  const bool keep = keep_alive_ && !hub_->draining;
  keep_alive_ = keep;
  pending_ += reply_head(
      reply, {.length = reply.body.size(), .keep_alive = keep, .common = answer_headers_});
  if (line_.method != "HEAD" && reply.status != 204 && reply.status != 304) pending_ += reply.body;
  answered_ = true;
  if (service_->observer != nullptr)
    service_->observer->on_answered(line_, reply.status, reply.body);
  write();
}

void Connection::start_stream(std::string content_type) {
  body_ = http11_ ? Framing::Body::kChunked : Framing::Body::kUntilClose;
  if (!http11_ || hub_->draining) keep_alive_ = false;
  HttpReply head{.content_type = std::move(content_type)};
  head.headers.emplace_back("cache-control", "no-cache");
  pending_ +=
      reply_head(head, {.body = body_, .keep_alive = keep_alive_, .common = answer_headers_});
  if (service_->observer != nullptr) service_->observer->on_answered(line_, head.status, {});
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
        self->written_ += bytes;
        self->write();
      });
}

void Connection::complete() {
  closed_callback = nullptr;
  drained_callback = nullptr;
  end_exchange();
  service_.reset();
  answer_headers_.clear();
  if (!keep_alive_) return linger();
  phase_ = Phase::kReading;
  arm(hub_->config.idle_timeout);
  for (std::string* buffer : {&pending_, &in_flight_, &input_}) keep_at_most(*buffer, kKeptBytes);
  enter_waiting();
  parse();
}

// Closing while unread input waits would reset the connection under the client's feet, before it
// has read the answer.
void Connection::linger() {
  phase_ = Phase::kLingering;
  boost::system::error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  arm(hub_->config.linger_timeout);
  input_ = std::string();
  enter_waiting();
  read();
}

void Connection::close() {
  if (phase_ == Phase::kClosed) return;
  const bool cut = phase_ == Phase::kAnswering;
  phase_ = Phase::kClosed;
  const auto self = shared_from_this();
  if (cut) {
    end_exchange();
    const auto callback = std::move(closed_callback);
    if (callback && !answered_) callback();
  }
  closed_callback = nullptr;
  drained_callback = nullptr;
  reader_.reset();
  claim_.reset();
  boost::system::error_code ignored;
  timer_.cancel(ignored);
  socket_.close(ignored);
  leave_waiting();
  const std::lock_guard lock(hub_->mutex);
  hub_->connections.erase(self);
}

void Connection::enter_waiting() {
  const std::lock_guard lock(hub_->mutex);
  waiting_place_ = hub_->waiting.insert(hub_->waiting.end(), this);
}

void Connection::leave_waiting() {
  const std::lock_guard lock(hub_->mutex);
  if (waiting_place_) hub_->waiting.erase(*waiting_place_);
  waiting_place_.reset();
}

std::shared_ptr<Connection> Connection::longest_waiting(Hub& hub) {
  const std::lock_guard lock(hub.mutex);
  if (hub.waiting.empty()) return nullptr;
  Connection* connection = hub.waiting.front();
  hub.waiting.pop_front();
  connection->waiting_place_.reset();
  return connection->shared_from_this();
}

void Connection::arm(std::chrono::milliseconds time) {
  deadline_ = Clock::now() + time;
  if (phase_ == Phase::kReading) deadline_ = std::min(deadline_, receive_deadline_);
  if (!timer_waiting_ || deadline_ < timer_.expiry()) start_timer();
}

void Connection::start_timer() {
  timer_.expires_at(deadline_);
  timer_waiting_ = true;
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (error || self->phase_ == Phase::kClosed) return;
    self->timer_waiting_ = false;
    if (self->deadline_ == kNever) return;
    if (Clock::now() < self->deadline_) return self->start_timer();
    self->on_timeout();
  });
}

void Connection::on_timeout() {
  if (phase_ == Phase::kReading && reader_)
    return refuse({"the request did not arrive completely in time", 408});
  close();
}

}  // namespace foretoken
