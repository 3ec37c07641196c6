#include "server/http/connection_exchange.h"

#include <boost/asio/post.hpp>

#include "server/http/error_reply.h"

namespace foretoken {

// Runs function(connection) on the strand, at once when called there, if the connection still
// answers this exchange. Other threads touch the connection only while the gate is held, because it
// must not outlive the I/O context.
template <typename Function>
void ConnectionExchange::on_strand(Function function) {
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
void ConnectionExchange::post_to(const std::shared_ptr<Connection>& connection, Function function) {
  asio::post(connection->strand(), [connection, serial = serial_, function = std::move(function)] {
    if (connection->is_answering(serial)) function(*connection);
  });
}

ConnectionExchange::ConnectionExchange(HttpRequest request, std::optional<BodyClaim> claim,
                                       const std::shared_ptr<Connection>& connection,
                                       std::shared_ptr<Hub> hub, std::uint64_t serial)
    : request_(std::move(request)),
      claim_(std::move(claim)),
      connection_(connection),
      backlog_(connection->backlog),
      hub_(std::move(hub)),
      serial_(serial) {}

ConnectionExchange::~ConnectionExchange() {
  on_strand([](Connection& connection) {
    if (connection.stream_started())
      connection.finish_stream();
    else
      connection.reply(
          error_reply(error_style_of(connection.path()), {"Internal server error", 500}));
  });
}

void ConnectionExchange::release_body() {
  request_.body = std::string();
  request_.headers = {};
  claim_.reset();
}

void ConnectionExchange::reply(HttpReply reply) {
  on_strand([reply = std::move(reply)](Connection& c) { c.reply(reply); });
}

void ConnectionExchange::start_stream(std::string content_type) {
  on_strand([type = std::move(content_type)](Connection& c) { c.start_stream(type); });
}

void ConnectionExchange::send(std::string piece) {
  on_strand([piece = std::move(piece)](Connection& c) { c.send(piece); });
}

void ConnectionExchange::finish_stream() {
  on_strand([](Connection& c) { c.finish_stream(); });
}

void ConnectionExchange::post(std::function<void()> function) {
  const std::shared_lock lock(hub_->gate);
  if (!hub_->open) return;
  if (const auto connection = connection_.lock())
    post_to(connection, [function = std::move(function)](Connection&) { function(); });
}

void ConnectionExchange::on_closed(std::function<void()> callback) {
  on_strand([callback = std::move(callback)](Connection& c) { c.closed_callback = callback; });
}

void ConnectionExchange::on_drained(std::function<void()> callback) {
  on_strand([callback = std::move(callback)](Connection& c) { c.drained_callback = callback; });
}

}  // namespace foretoken
