#pragma once
// Server: the asynchronous HTTP/1.1 front of an engine. Parses requests, renders text, streams
// answers. A few I/O threads serve any number of slow streams. It owns no model state. run() blocks
// until SIGTERM/SIGINT or stop(), then drains: no new requests, running ones finish.

#include <memory>

#include "engine/engine_port.h"
#include "server/server_config.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace foretoken {

class Server {
 public:
  // tokenizer and chat_template may be null (--skip-tokenizer-init; model without a template).
  // Binds and listens at once (throws Error when it cannot); connections are served from run() on.
  // References outlive the server.
  Server(const ServerConfig& config, EnginePort& engine, const Tokenizer* tokenizer,
         const ChatTemplate* chat_template);
  ~Server();

  int port() const;  // the bound port
  void run();        // until a signal or stop()
  void stop();       // from any thread

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace foretoken
