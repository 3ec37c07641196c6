#pragma once
// ConnectionExchange: the Exchange of a request that a Connection is answering. Any thread may hold
// it; it reaches the connection through its strand, and outlives it when the client leaves: then
// every call does nothing. It owns the request, and the share of the body budget with it.

#include <memory>
#include <mutex>
#include <string>

#include "server/http/connection.h"

namespace foretoken {

class ConnectionExchange final : public Exchange {
 public:
  ConnectionExchange(HttpRequest request, std::optional<BodyClaim> claim,
                     const std::shared_ptr<Connection>& connection, std::shared_ptr<Hub> hub,
                     std::uint64_t serial);
  // A handler that forgot to answer must not leave the client waiting.
  ~ConnectionExchange() override;

  const HttpRequest& request() const override { return request_; }
  void release_body() override;
  void reply(HttpReply reply) override;
  void start_stream(std::string content_type) override;
  void send(std::string piece) override;
  void finish_stream() override;
  std::size_t backlog() const override { return backlog_->load(std::memory_order_relaxed); }
  void post(std::function<void()> function) override;
  void on_closed(std::function<void()> callback) override;
  void on_drained(std::function<void()> callback) override;

 private:
  template <typename Function>
  void on_strand(Function function);
  template <typename Function>
  void post_to(const std::shared_ptr<Connection>& connection, Function function);

  HttpRequest request_;
  std::optional<BodyClaim> claim_;
  std::weak_ptr<Connection> connection_;
  std::shared_ptr<std::atomic<std::size_t>> backlog_;
  std::shared_ptr<Hub> hub_;
  std::uint64_t serial_;
};

}  // namespace foretoken
