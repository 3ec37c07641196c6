#pragma once
// Server: the asynchronous HTTP/1.1 front of an engine. Parses requests, renders text, streams
// answers. A few I/O threads serve any number of slow streams. It owns neither the port nor any
// model state: the port is taken before the model is loaded, which may take minutes.

#include <memory>

#include "engine/engine_port.h"
#include "server/context/server_config.h"
#include "server/http/http_server.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace foretoken {

// The part of the configuration that the port and its connections need; known before the model is.
HttpConfig http_config(const ServerConfig& config);

// What answers while the model is loaded: 503, /health included.
HttpService loading_service();

class Server {
 public:
  // tokenizer and chat_template may be null (--skip-tokenizer-init; model without a template).
  // References outlive the server; `http` has been started.
  Server(HttpServer& http, const ServerConfig& config, EnginePort& engine,
         const Tokenizer* tokenizer, const ChatTemplate* chat_template);
  ~Server();

  // Requests are answered from now on; run() follows.
  void open();
  // Until SIGTERM/SIGINT or stop() of `http`, which drain: no new requests, running ones finish.
  void run();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace foretoken
